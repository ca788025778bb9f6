import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli } from '../../../controlplane/cli/cli.ts'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { createServerCa, issueServerCertificate } from '../../../controlplane/crypto/server-certificate.ts'

/** The little of an API server that the command speaks to: a Secret, a ConfigMap, and what it answers on purpose. */
type Stored = {
  secret: Record<string, unknown> | null
  ownerLink: Record<string, unknown> | null
  configMap: Record<string, unknown> | null
  calls: string[]
  status: number | null
}

let stored: Stored
let env: Record<string, string>
let close: () => Promise<void>

beforeEach(async () => {
  stored = { secret: null, ownerLink: null, configMap: null, calls: [], status: null }
  const folder = await mkdtemp(join(tmpdir(), 'chaperone-setup-'))
  const ca = createServerCa(createKeyring(Buffer.alloc(32, 1)), Date.now())
  const server = createServer(issueServerCertificate(ca, ['127.0.0.1'], Date.now()), (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      stored.calls.push(`${request.method} ${request.url?.split('?')[0]} ${request.headers.authorization}`)
      const answer = stored.status === null ? serve(request, Buffer.concat(chunks).toString()) : null
      response.writeHead(stored.status ?? (answer === null ? 404 : 200), {
        'content-type': 'application/json',
      })
      response.end(JSON.stringify(answer ?? { message: 'no' }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  await writeFile(join(folder, 'ca.crt'), ca.caPem)
  await writeFile(join(folder, 'token'), 'pod-token\n')
  env = {
    POD_NAMESPACE: 'chaperone-system',
    KUBE_API_URL: `https://127.0.0.1:${address.port}`,
    KUBE_CA_FILE: join(folder, 'ca.crt'),
    KUBE_TOKEN_FILE: join(folder, 'token'),
  }
  close = async () => {
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true })
  }
})
afterEach(() => close())

function serve({ method, url = '' }: IncomingMessage, body: string): unknown {
  if (method === 'GET') return url.endsWith('/chaperone-owner-link') ? stored.ownerLink : stored.secret
  const object = JSON.parse(body)
  if (method === 'PATCH') {
    stored.configMap = object
    return object
  }
  const data = Object.entries(object.stringData as Record<string, string>).map(([name, value]) => [
    name,
    Buffer.from(value).toString('base64'),
  ])
  const secret = { ...object, stringData: undefined, data: Object.fromEntries(data) }
  if (object.metadata.name === 'chaperone-owner-link') stored.ownerLink = secret
  else stored.secret = secret
  return secret
}

function dataOfSecret(): Record<string, string> {
  if (stored.secret === null) throw new Error('no Secret was made')
  return stored.secret['data'] as Record<string, string>
}

async function setUp(): Promise<{ code: number; out: string; err: string }> {
  const lines = { out: [] as string[], err: [] as string[] }
  const terminal = {
    print: (line: string) => lines.out.push(line),
    warn: (line: string) => lines.err.push(line),
    isInteractive: false,
  }
  const code = await runCli(['cluster-setup'], { env, cwd: '/', terminal })
  return { code, out: lines.out.join('\n'), err: lines.err.join('\n') }
}

test('the first run makes every key and publishes the CA of the servers', async () => {
  const { code, out } = await setUp()
  expect(code).toBe(0)
  const data = dataOfSecret()
  expect(Object.keys(data).sort()).toEqual(['admin.token', 'maintenance.secret', 'master.key'])
  const masterKey = Buffer.from(Buffer.from(data['master.key'] ?? '', 'base64').toString(), 'base64')
  expect(masterKey).toHaveLength(32)
  expect(stored.configMap).toMatchObject({ data: { 'ca.crt': expect.stringContaining('BEGIN CERTIFICATE') } })
  for (const value of Object.values(data)) expect(out).not.toContain(Buffer.from(value, 'base64').toString())
  expect(stored.calls.every((call) => call.endsWith('Bearer pod-token'))).toBe(true)
})

test('the owner link is in a Secret of its own, for an hour, and in no line of output', async () => {
  env['PUBLIC_URL'] = 'https://chaperone.example.com'
  const { out, err } = await setUp()
  const data = stored.ownerLink?.['data'] as Record<string, string>
  const text = (name: string) => Buffer.from(data[name] ?? '', 'base64').toString()
  expect(text('token')).toMatch(/^[\w-]{43}$/)
  expect(text('link')).toBe(`https://chaperone.example.com/setup?token=${text('token')}`)
  const restMs = Date.parse(text('expires-at')) - Date.now()
  expect(restMs).toBeLessThanOrEqual(3_600_000)
  expect(restMs).toBeGreaterThan(3_500_000)
  expect(out + err).not.toContain(text('token'))
  expect(stored.configMap).toMatchObject({ data: { 'public-url': 'https://chaperone.example.com' } })
  await setUp()
  expect(stored.ownerLink?.['data']).toEqual(data)
})

test('a second run changes no key', async () => {
  await setUp()
  const before = structuredClone(stored.secret)
  expect((await setUp()).out).toContain('kept Secret chaperone-system/chaperone-keys')
  expect(stored.secret).toEqual(before)
  expect(stored.calls.filter((call) => call.startsWith('POST'))).toHaveLength(2)
})

test('a Secret that lacks a key is not mended by guessing: the message names what is missing', async () => {
  await setUp()
  delete dataOfSecret()['maintenance.secret']
  const { code, err } = await setUp()
  expect(code).toBe(1)
  expect(err).toContain('has no maintenance.secret')
})

test('what the API server refuses is said with its own words', async () => {
  stored.status = 403
  const { code, err } = await setUp()
  expect(code).toBe(1)
  expect(err).toMatch(/answered 403 to GET .*secrets\/chaperone-keys: .*no/)
})

test('outside of a pod it says what to set', async () => {
  env = {}
  const { code, err } = await setUp()
  expect(code).toBe(2)
  expect(err).toContain('POD_NAMESPACE')
})
