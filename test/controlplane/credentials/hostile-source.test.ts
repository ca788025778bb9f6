import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MintError } from '../../../controlplane/features/credentials/minting/mint.ts'
import { createMint, createNarrowMint } from '../../../controlplane/features/credentials/minting/sources.ts'
import { CredentialSpec } from '../../../core/crd/credentials/credential-spec.ts'

const SECRET = 'canary-of-the-stored-secret'
/** Answer of the token endpoint. */
let answer: { readonly status: number; readonly headers?: Record<string, string>; readonly body: string }
let paths: string[] = []
const server = createServer((request, reply) => {
  paths.push(request.url ?? '')
  reply.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers }).end(answer.body)
})
let url: string

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const settings = {
  tokenEndpointAllowCidrs: [],
  localSources: {
    isAllowed: true,
    fileDirs: [],
    environment: () => ({ TOKEN: 'line\nbreak', PATH: '/usr/bin:/bin' }),
  },
}
const clock = { nowMs: Date.now, monotonicMs: () => performance.now() }
const oauth2 = () =>
  CredentialSpec.parse({
    vault: 'a',
    oauth2: { tokenUrl: `${url}/token`, clientId: 'c', clientAuthentication: 'post' },
  })
const exchange = (credential = oauth2(), source: 'file' | 'kubernetes' = 'file') =>
  createMint(settings)({ credential, secret: SECRET, rotated: null, connector: 'default/con', source })

async function failureOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(MintError)
  const { message } = error as MintError
  expect(message).not.toContain(SECRET)
  // One line of visible characters, for pages, logs and records.
  expect(message).toMatch(/^[\x20-\x7e…]{1,600}$/)
  return message
}

const token = (more: object) => JSON.stringify({ access_token: 'abc', token_type: 'bearer', ...more })

test.each([
  ['a number of seconds', 60, 60_000],
  ['the longest lifetime for a longer one', 1e300, 10 * 365 * 86_400_000],
  ['five minutes without one', undefined, 300_000],
])('the lifetime of an access token is %s', async (_name, expires_in, lifetimeMs) => {
  answer = { status: 200, body: token({ expires_in }) }
  expect(await exchange()).toMatchObject({ secret: 'abc', lifetimeMs })
})

test.each([
  ['a negative lifetime', token({ expires_in: -1 })],
  ['a lifetime that is no number', token({ expires_in: 'soon' })],
  ['a token with a line break', token({ access_token: 'a\r\nx-injected: 1' })],
  ['a token with a blank', token({ access_token: 'a b' })],
  ['a token beyond ASCII', token({ access_token: 'ä' })],
  ['an endless token', token({ access_token: 'a'.repeat(65_537) })],
  ['an empty token', token({ access_token: '' })],
  ['a token that is a list', token({ access_token: ['a'] })],
  ['a token of another type', token({ token_type: 'MAC' })],
  ['no JSON', '<html>'],
  ['null', 'null'],
  ['more than 1 MiB', `{"access_token":"${'a'.repeat(1_100_000)}"}`],
])('an answer with %s is refused', async (_name, body) => {
  answer = { status: 200, body }
  await failureOf(exchange())
})

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) is not followed, and its target is not stated',
  async (status) => {
    paths = []
    answer = { status, headers: { location: `${url}/inside?${SECRET}` }, body: '' }
    expect(await failureOf(exchange())).toContain(`status ${status}`)
    expect(paths).toEqual(['/token'])
  },
)

test('an error that repeats the request, with control characters, is one masked line', async () => {
  const description = `\u001b[2J${SECRET}\r\n${encodeURIComponent(SECRET)} ${'x'.repeat(10_000)}`
  answer = { status: 400, body: JSON.stringify({ error: 'invalid_client', error_description: description }) }
  expect(await failureOf(exchange())).toContain('invalid_client')
})

test('a tenant of a cluster reaches no private address, by name or by number', async () => {
  paths = []
  const { port } = new URL(url)
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '10.0.0.1']) {
    const credential = CredentialSpec.parse({
      ...{ secretRef: { name: 'a' }, oauth2: { tokenUrl: `https://${host}:${port}/token`, clientId: 'c' } },
    })
    expect(await failureOf(exchange(credential, 'kubernetes')), host).toContain('nothing was sent')
    const request = { credential, secret: SECRET, connector: 'team/con', source: 'kubernetes' as const }
    const need = { repositories: null, permissions: ['read'], readsMore: false }
    const narrow = createNarrowMint(settings, clock)({ ...request, need, sourceHash: 'hash' })
    expect(await failureOf(narrow), host).toContain('nothing was sent')
  }
  expect(paths).toEqual([])
})

test('a tenant of a cluster reads no variable, command and file of the control plane', async () => {
  for (const local of [
    { env: { name: 'TOKEN' } },
    { exec: { command: '/bin/echo', args: [SECRET] } },
    { file: { path: '/etc/hostname' } },
  ])
    await failureOf(exchange(CredentialSpec.parse(local), 'kubernetes'))
})

test('a secret with a line break of a source of the machine is refused', async () => {
  expect(await failureOf(exchange(CredentialSpec.parse({ env: { name: 'TOKEN' } })))).toContain(
    'control characters',
  )
  const exec = { command: 'printf', args: [`${SECRET}\\nx-injected: 1`] }
  expect(await failureOf(exchange(CredentialSpec.parse({ exec })))).toContain('control characters')
})
