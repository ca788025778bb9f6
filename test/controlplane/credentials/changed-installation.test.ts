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

/** What the owner of the installation grants, and the requests for tokens that the code host received. */
let account: string
let granted: Readonly<Record<string, string>>
let repositories: readonly string[]
let asked: Array<{ readonly permissions: Readonly<Record<string, string>> }>
let reads: number
let monotonicMs: number

beforeEach(() => {
  account = 'Acme'
  granted = { contents: 'write', issues: 'write', metadata: 'read', pull_requests: 'write' }
  repositories = ['site']
  asked = []
  reads = 0
  monotonicMs = 0
})

/** The API of the code host: 422 for repositories and permissions that the installation does not have. */
const codeHost: CheckedFetch = async (_url, { method, body } = {}) => {
  if (method === 'GET') {
    reads += 1
    return Response.json({ account: { login: account }, permissions: granted })
  }
  const limit = JSON.parse(String(body)) as (typeof asked)[number] & { readonly repositories: string[] }
  asked.push(limit)
  const isCovered =
    limit.repositories.every((name) => repositories.includes(name)) &&
    Object.entries(limit.permissions).every(([name, access]) =>
      [access, 'write'].includes(granted[name] ?? ''),
    )
  if (!isCovered) return Response.json({ message: 'Not granted' }, { status: 422 })
  return Response.json({ token: 'ghs_1', expires_at: new Date(Date.now() + 3_600_000) }, { status: 201 })
}

function createMint() {
  const mint = createGithubAppNarrowMint(() => codeHost, { nowMs: Date.now, monotonicMs: () => monotonicMs })
  return (permissions: readonly string[], repository = 'acme/site') =>
    mint({
      ...{ credential, secret: KEY, connector: 'default/code', source: 'file', sourceHash: 'hash' },
      need: { repositories: [repository], permissions, readsMore: false },
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

test('a repository that the installation does not have has no token of its own, after one more read', async () => {
  const mint = createMint()
  expect(await mint(['contents:read'])).toHaveProperty('secret')
  expect(await mint(['contents:read'], 'acme/other')).toHaveProperty('whole')
  expect(reads).toBe(2)
  expect(asked).toHaveLength(2)
})

test('an agent that names repositories of other accounts causes at most one read in 10 s', async () => {
  const mint = createMint()
  expect(await mint(['contents:read'])).toHaveProperty('secret')
  monotonicMs += 10_000
  for (let number = 0; number < 20; number++)
    expect(await mint(['contents:read'], `other/${number}`)).toHaveProperty('whole')
  expect(reads).toBe(2)
  expect(asked).toHaveLength(1)
})
