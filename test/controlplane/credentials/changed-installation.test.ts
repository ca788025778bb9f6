import { generateKeyPairSync } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { createGithubAppNarrowMint } from '../../../controlplane/features/credentials/minting/narrowing/github-app.ts'
import type { CheckedFetch } from '../../../controlplane/features/oidc/checked-fetch.ts'
import { CredentialSpec } from '../../../core/crd/credentials/credential-spec.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const KEY = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()
const credential = CredentialSpec.parse({
  vault: 'app',
  githubApp: { appId: 'a', installationId: 1, apiUrl: 'https://api.code.test' },
})

/** Body of a request for a token. */
type Limit = {
  readonly permissions: Readonly<Record<string, string>>
  readonly repositories?: readonly string[]
}

/** What the owner of the installation grants, and the requests for tokens that the code host received. */
let account: string
let granted: Readonly<Record<string, string>>
let repositories: readonly string[]
let asked: Limit[]
let reads: number
let monotonicMs: number
/** Permission that the code host refuses although the installation lists it. */
let refused: string | null

beforeEach(() => {
  account = 'Acme'
  granted = { contents: 'write', issues: 'write', metadata: 'read', pull_requests: 'write' }
  repositories = ['site']
  asked = []
  reads = 0
  monotonicMs = 0
  refused = null
})

/** The API of the code host: 422 for repositories and permissions that the installation does not have. */
const codeHost: CheckedFetch = async (_url, { method, body } = {}) => {
  if (method === 'GET') {
    reads += 1
    return Response.json({ account: { login: account }, permissions: granted })
  }
  const limit = JSON.parse(String(body)) as Limit
  asked.push(limit)
  const isCovered =
    !Object.keys(limit.permissions).includes(refused ?? '') &&
    (limit.repositories ?? []).every((name) => repositories.includes(name)) &&
    Object.entries(limit.permissions).every(([name, access]) =>
      [access, 'write'].includes(granted[name] ?? ''),
    )
  if (!isCovered) return Response.json({ message: 'Not granted' }, { status: 422 })
  return Response.json({ token: 'ghs_1', expires_at: new Date(Date.now() + 3_600_000) }, { status: 201 })
}

function createMint() {
  const mint = createGithubAppNarrowMint(() => codeHost, { nowMs: Date.now, monotonicMs: () => monotonicMs })
  return (permissions: readonly string[], named: string | string[] = 'acme/site', readsMore = false) =>
    mint({
      ...{ credential, secret: KEY, connector: 'default/code', source: 'file', sourceHash: 'hash' },
      need: { repositories: [named].flat(), permissions, readsMore },
    })
}

test('a permission that the owner of the installation took away since makes a narrower token, not the token of the Connector', async () => {
  const mint = createMint()
  expect(await mint(['contents:write', 'pull_requests:write'])).toHaveProperty('secret')
  granted = { contents: 'read', metadata: 'read', pull_requests: 'write' }
  expect(await mint(['contents:write', 'pull_requests:write'])).toMatchObject({
    secret: 'ghs_1',
    scope: ['Acme/site', 'contents:read', 'metadata:read', 'pull_requests:write'],
  })
  expect(reads).toBe(2)
})

test('an installation whose account was renamed is read again for a repository of its new name', async () => {
  const mint = createMint()
  expect(await mint(['contents:read'])).toHaveProperty('secret')
  account = 'Initech'
  monotonicMs += 10_000
  expect(await mint(['contents:read'], 'initech/site')).toMatchObject({
    scope: expect.arrayContaining(['Initech/site']),
  })
})

test('a read of a repository that the installation does not have gets a token for public content only, after one more read', async () => {
  const mint = createMint()
  expect(await mint(['contents:read'])).toHaveProperty('secret')
  const token = await mint(['contents:read'], 'acme/other')
  expect(token).toMatchObject({
    secret: 'ghs_1',
    scope: ['metadata:read', 'not in the installation: acme/other'],
  })
  // The owner may add the repository.
  expect(token.lifetimeMs).toBeLessThanOrEqual(300_000)
  expect(reads).toBe(2)
  expect(asked.at(-1)).toEqual({ permissions: { metadata: 'read' } })
})

test('a change in a repository that the installation does not have is refused with the reason', async () => {
  const mint = createMint()
  const reason = 'The installation of the GitHub App has no repository acme/former'
  await expect(mint(['contents:write'], 'acme/former')).rejects.toThrow(reason)
  await expect(mint(['issues:write'], 'acme/former', true)).rejects.toThrow('If the repository was renamed')
  // A read without permissions beside `metadata` needs no further request to distinguish the reasons.
  asked = []
  expect(await mint(['metadata:read'], 'acme/former')).toHaveProperty('secret')
  expect(asked).toHaveLength(2)
})

test('a permission that the installation refuses never makes a public token', async () => {
  const mint = createMint()
  expect(await mint(['contents:read'])).toHaveProperty('secret')
  // The installation still lists the permission.
  refused = 'contents'
  const lacks = 'issued no token for these repositories (status 422: Not granted)'
  await expect(mint(['contents:read'])).rejects.toThrow(lacks)
  await expect(mint(['contents:write'])).rejects.toThrow(lacks)
})

test('a mutation on a repository of another account also reads what the Connector may read, and writes nothing', async () => {
  const mint = createMint()
  await mint(['issues:write'], 'other/site', true)
  const { permissions } = asked.at(-1) ?? {}
  expect(permissions).toEqual({ contents: 'read', issues: 'read', metadata: 'read', pull_requests: 'read' })
})

test('repositories of other accounts are left out of a token, which is never wider because of them', async () => {
  const mint = createMint()
  expect(await mint(['contents:read'], ['acme/site', 'other/fork'])).toMatchObject({
    scope: ['Acme/site', 'contents:read', 'metadata:read'],
  })
  expect(asked).toEqual([{ repositories: ['site'], permissions: { contents: 'read', metadata: 'read' } }])
})

test('a request is refused when the installation has only some of its repositories', async () => {
  const mint = createMint()
  await expect(mint(['contents:read'], ['acme/other', 'acme/site'])).rejects.toThrow(
    'issued no token for these repositories (status 422: Not granted)',
  )
  expect(asked.every((limit) => limit.repositories?.length === 2)).toBe(true)
})

test('an agent that names repositories of other accounts causes at most one read and one token in 10 s', async () => {
  const mint = createMint()
  expect(await mint(['contents:read'])).toHaveProperty('secret')
  monotonicMs += 10_000
  for (let number = 0; number < 20; number++)
    expect(await mint(['contents:read'], `other/${number}`)).toMatchObject({ scope: ['metadata:read'] })
  expect(reads).toBe(2)
  expect(asked).toHaveLength(2)
})
