import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cliProgram } from '../support/cli-program.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { NODE_VERSIONS, nodeProgram, npmPackages } from '../support/node-environment.ts'
import { INSTALL_TIMEOUT_MS } from '../support/package-cache.ts'
import { IS_FULL, size } from '../support/proof.ts'
import { type Recorder, replyJson, startRecorder } from '../support/recorder.ts'
import type { CommandResult } from '../support/run-command.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

const CLI = cliProgram()
/** A name that no resolver knows: a client that goes around the gateway fails. */
const HOST = 'things.invalid'
const SECRET = 'stored-credential-0007'
const LIBRARIES = [
  'axios@1.21.1',
  'got@14.6.6',
  'got11@npm:got@11.8.6',
  'undici@8.12.4',
  'undici6@npm:undici@6.29.1',
  'undici5@npm:undici@5.29.0',
  'ws@8.23.0',
  'stripe@23.1.0',
  'stripe17@npm:stripe@17.7.0',
]
const MANIFEST = (port: number) => `apiVersion: v1
kind: Secret
metadata: { name: things }
stringData: { token: ${SECRET} }
---
apiVersion: chaperone.dev/v1alpha1
kind: Connector
metadata: { name: things }
spec:
  type: generic
  domains: [${HOST}]
  ports: [80, 443]
  credential: { secretRef: { name: things, key: token } }
  upstream: { url: 'http://127.0.0.1:${port}', allowPrivateAddresses: true, allowPlaintextCredential: true }
---
apiVersion: chaperone.dev/v1alpha1
kind: Permission
metadata: { name: things }
spec:
  gatewayRefs: [{ name: local }]
  rules: [{ connectorType: generic, actionPattern: 'generic.get', decision: allow }]
`

let folder = ''
let upstream: Recorder
let vendors: Vendors
let laptop: Laptop

beforeAll(async () => {
  // A path as a user may have it, for the quoting of NODE_OPTIONS.
  folder = mkdtempSync(join(tmpdir(), 'chaperone-preload-'))
  symlinkSync(npmPackages(...LIBRARIES), join(folder, 'node_modules'))
  copyFileSync(new URL('./agents/node-clients.mjs', import.meta.url), join(folder, 'clients.mjs'))
  upstream = await startRecorder({ answer: replyJson({ thing: 1 }) })
  vendors = await startVendors()
  laptop = await startLaptop({
    database: 'worker',
    isCaptured: true,
    manifests: {
      'vendors.yaml': vendors.manifests.replace(
        'spec: {}',
        'spec: { rateLimit: { requestsPerMinute: 10000 } }',
      ),
      'things.yaml': MANIFEST(upstream.port),
    },
  })
}, 300_000)

afterAll(async () => {
  await laptop?.stop()
  await upstream?.close()
  await vendors?.recorder.close()
  rmSync(folder, { recursive: true, force: true })
}, INSTALL_TIMEOUT_MS)

const run = (command: readonly string[], env: Record<string, string> = {}): Promise<CommandResult> =>
  laptop.cli(['run', '--', ...command], { env })

async function recordsOf(name: string): Promise<number> {
  const { body } = await laptop.api('GET', `/api/dashboard/traffic?limit=500&q=${name}`)
  return (body['traffic'] as unknown[]).length
}

type Seen = { client: string; status?: number; body?: string; error?: string }
const linesOf = ({ stdout }: CommandResult): Seen[] =>
  stdout.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Seen] : []))

/** The oldest and our own in `npm test`, those between them in the nightly run. */
const PROGRAMS = [
  ...NODE_VERSIONS.slice(0, size(1, NODE_VERSIONS.length)).map(
    (version) => [version, () => nodeProgram(version)] as const,
  ),
  [process.versions.node, () => process.execPath] as const,
]

/** In `npm test` the oldest alone has these tests: the code of the preload is the same, and each start takes 1 s of CPU time. */
const oldest = (version: string) => test.runIf(IS_FULL || version === NODE_VERSIONS[0])

describe.each(PROGRAMS)('Node %s', (version, program) => {
  test('every client goes through the gateway and trusts it, and the program ends by itself', async () => {
    const before = { upstream: upstream.seen.length, vendors: vendors.recorder.seen.length }
    const ran = await run([program(), join(folder, 'clients.mjs'), HOST])
    expect(ran.code, ran.stderr).toBe(0)
    const results = linesOf(ran)
    const own = results.filter(({ client }) => client !== 'ws' && client !== 'stripe')
    expect(results.filter(({ error }) => error !== undefined)).toEqual([])
    expect(own.map(({ client, status, body }) => [client, status, body?.trim()])).toEqual(
      own.map(({ client }) => [client, 200, '{"thing":1}']),
    )
    expect(own.length).toBeGreaterThanOrEqual(23)
    expect(results.find(({ client }) => client === 'ws')).toMatchObject({ status: 101, body: 'ping' })
    expect(results.find(({ client }) => client === 'stripe')).toMatchObject({ body: 'cus_1' })
    const calls = upstream.seen.slice(before.upstream)
    expect(calls).toHaveLength(own.length)
    for (const call of calls) expect(call.header('authorization')).toBe(`Bearer ${SECRET}`)
    const others = vendors.recorder.seen.slice(before.vendors)
    for (const call of others) expect(call.rawHeaders.join('\n')).not.toMatch(/placeholder|proxy-/i)
  }, 120_000)

  oldest(version)('a host that nobody owns is refused with the reason, and the program goes on', async () => {
    const database = `database-${version.replaceAll('.', '-')}.invalid`
    const code = `require('https').get('https://nobody.invalid/', { agent: new (require('https').Agent)() }, (a) => a.setEncoding('utf8').on('data', (text) => console.log(a.statusCode, text)))
      require('net').connect(5432, '${database}').on('error', (e) => console.log(e.code, e.message)).on('connect', () => console.log('connected'))`
    const { stdout } = await run([program(), '-e', code])
    await eventually('one record', async () => (await recordsOf(database)) === 1 || null)
    expect(stdout).toContain(`ERR_PROXY_TUNNEL chaperone does not connect to ${database}:5432: `)
    expect(stdout).not.toContain('connected')
    expect(stdout).toMatch(/^403 .*nobody\.invalid/m)
  })

  oldest(version)('this machine is reached directly', async () => {
    const code = `for (const host of ['localhost', '127.0.0.1'])
      require('http').get({ host, port: ${upstream.port}, path: '/local' }, (a) => console.log(a.resume().statusCode))`
    const before = upstream.seen.length
    const ran = await run([program(), '-e', code])
    expect(ran.stdout, ran.stderr).toBe('200\n200\n')
    for (const call of upstream.seen.slice(before)) expect(call.header('authorization')).toBeUndefined()
  })

  oldest(version)('options that the program has are kept', async () => {
    const preload = join(folder, 'with "quotes" and \\ spaces.cjs')
    writeFileSync(preload, 'process.env.OWN = "loaded"')
    const own = `--max-http-header-size=9999 --require "${preload.replace(/["\\]/g, '\\$&')}"`
    const code = `console.log(process.env.OWN, require('http').maxHeaderSize);fetch('https://${HOST}/').then(a=>console.log(a.status))`
    const ran = await run([program(), '-e', code], { NODE_OPTIONS: own })
    expect(ran.stdout, ran.stderr).toBe('loaded 9999\n200\n')
  })
})

test('a checkout in a folder with spaces and quotes is loaded', async () => {
  const odd = join(folder, 'a "folder" of\\mine')
  mkdirSync(odd)
  const file = join(odd, 'preload.cjs')
  copyFileSync(new URL('../../controlplane/cli/run/node-preload/preload.cjs', import.meta.url), file)
  const { agentEnvironment } = await import('../../controlplane/cli/run/agent-environment.ts')
  const files = { caFile: '/c', caBundleFile: '/b', wgetrcFile: '/w', nodePreloadFile: file }
  const env = agentEnvironment({ ...files, proxyUrl: laptop.ready.agents[0]?.proxy_url ?? '', env: {} })
  const code = `fetch('https://${HOST}/').then(a=>console.log(a.status))`
  for (const [, program] of PROGRAMS.slice(0, size(1, PROGRAMS.length))) {
    const ran = await run([...['env', `NODE_OPTIONS=${env['NODE_OPTIONS']}`, program(), '-e', code]])
    expect(ran.stdout, ran.stderr).toBe('200\n')
  }
})

const own = Object.values(networkInterfaces()).flat()
const address = own.find((each) => each?.family === 'IPv4' && !each.internal)?.address

/** The notice needs Linux and an address of this machine that is not loopback. */
describe.skipIf(process.platform !== 'linux' || address === undefined)('a program that goes around', () => {
  /** Runs a command that connects to `host` and stays until the server ends the connection; returns what it wrote. */
  async function connectTo(host: string, until: (stderr: string) => boolean): Promise<string> {
    const sockets: Socket[] = []
    const server = createServer((socket) => void sockets.push(socket.on('error', () => socket.destroy())))
    await new Promise<void>((resolve) => server.listen(0, resolve))
    const { port } = server.address() as AddressInfo
    const code = `import socket; socket.create_connection(("${host}", ${port})).recv(1)`
    const child = spawn(
      process.execPath,
      [CLI, 'run', '--data', laptop.data, '--', 'sh', '-c', `python3 -c '${code}'; true`],
      {
        env: { ...process.env, XDG_STATE_HOME: join(laptop.data, '..', 'state') },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    let stderr = ''
    child.stderr.on('data', (chunk) => {
      stderr += String(chunk)
    })
    await eventually('the connection', () => (sockets.length > 0 && until(stderr)) || null)
    for (const socket of sockets) socket.end()
    await once(child, 'close')
    server.close()
    return stderr
  }

  test('is named once, and capture is offered', async () => {
    const stderr = await connectTo(address ?? '', (text) => text.includes('without the gateway'))
    expect(stderr).toMatch(/python3[\d.]* \(pid \d+\) has connected to \S+ without the gateway/)
    expect(stderr).toContain(`connected to ${address}:`)
    expect(stderr.match(/without the gateway/g)).toHaveLength(1)
    expect(stderr).toContain('--capture')
  })

  test('is not one that stays on this machine', async () => {
    const stderr = await connectTo('127.0.0.1', () => true)
    expect(stderr).not.toContain('without the gateway')
  })
})
