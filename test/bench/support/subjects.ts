import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../controlplane/cli/postgres/free-port.ts'
import { testAgent } from '../../support/agent.ts'
import { type Laptop, startLaptop } from '../../support/laptop.ts'
import { descendant, end, serve } from '../../support/processes.ts'
import type { Target } from '../../support/tunnel.ts'
import type { UpstreamProcess } from './upstream-process.ts'

/** One proxy under measurement. `pid` is the process whose CPU and memory count. */
export type Subject = {
  readonly name: string
  readonly pid: number
  readonly target: Target
  /** Further processes of the subject that work while it is measured, and whose CPU is not counted. */
  readonly behind?: readonly number[]
  /** Stops it; resolves with the number of records that it has written. */
  finish(): Promise<number>
}

/** What every subject is given: where the upstream is and which files hold keys. */
export type Bed = {
  readonly upstream: UpstreamProcess
  readonly upstreamPort: number
  readonly folder: string
  readonly caFile: string
  readonly keyFile: string
  readonly certFile: string
}

export type StartSubject = (bed: Bed) => Promise<Subject | string>

/** A string instead of a subject says why it cannot run here. */
export const SUBJECTS: Readonly<Record<string, StartSubject>> = {
  chaperone: (bed) => startChaperone(bed),
  '@fastify/http-proxy': (bed) => startPeer(bed, 'fastify-proxy.mjs', '@fastify/http-proxy', 'reverse'),
  'http-mitm-proxy': (bed) => startPeer(bed, 'http-mitm.mjs', 'http-mitm-proxy', 'connect'),
  mockttp: (bed) => startPeer(bed, 'mockttp.mjs', 'mockttp', 'connect'),
  mitmdump: startMitmdump,
  haproxy: startHaproxy,
}

const PEERS = new URL('../peers/', import.meta.url).pathname

export async function startChaperone(bed: Bed, audit: 'async' | 'sync' = 'async'): Promise<Subject> {
  const rules = Array.from({ length: 999 }, (_, i) => `llm_a.bench_${i}.create`).concat(
    'llm_a.chat.create',
    'llm_a.*',
  )
  const laptop = await startLaptop({ manifests: { 'bench.yaml': benchManifests(bed, rules, audit) } })
  const gateway = descendant(laptop.pid, 'sidecar/main')
  if (gateway === null) throw new Error('the gateway process of chaperone was not found')
  const { target } = testAgent(laptop)
  const behind = [descendant(laptop.pid, 'controlplane/main'), descendant(laptop.pid, 'postgres')]
  return {
    name: 'chaperone',
    pid: gateway,
    target,
    behind: behind.flatMap((pid) => pid ?? []),
    finish: () => finishChaperone(laptop),
  }
}

/** Records as the control plane has them: they travel every 100 ms, so the list is read until it stays the same. */
async function finishChaperone(laptop: Laptop): Promise<number> {
  let count = -1
  for (let isStable = false; !isStable; ) {
    const { body } = await laptop.api('GET', '/api/dashboard/traffic?limit=500')
    const now = Array.isArray(body['traffic']) ? body['traffic'].length : 0
    isStable = now === count
    count = now
    if (!isStable) await sleep(300)
  }
  await laptop.stop()
  return count
}

/** An MCP server behind the same upstream: tools that read are allowed, those that are called `hold_…` need a person. */
export function mcpManifests(bed: Bed): string {
  const ca = readFileSync(bed.caFile, 'utf8').trim().replaceAll('\n', '\n      ')
  return [
    `kind: Connector\nmetadata: {name: tools}\nspec:\n  type: mcp\n  domains: [mcp.bench.example]\n` +
      `  credential: {secretRef: {name: llm, key: token}}\n  upstream:\n    url: https://127.0.0.1:${bed.upstreamPort}\n` +
      `    allowPrivateAddresses: true\n    caBundle: |\n      ${ca}`,
    `kind: Permission\nmetadata: {name: tools}\nspec:\n  gatewayRefs: [{ name: local }]\n  rules:\n` +
      `  - {connectorType: mcp, actionPattern: 'mcp.tools.read_*', decision: allow}\n` +
      `  - {connectorType: mcp, actionPattern: 'mcp.tools.hold_*', decision: require_approval}\n` +
      `  - {connectorType: mcp, actionPattern: 'mcp.tools.drop_*', decision: deny}`,
  ]
    .map((text) => `apiVersion: chaperone.dev/v1alpha1\n${text}`)
    .join('\n---\n')
}

/** One connector to the upstream of the bench, these permissions, and no rate limit to speak of. */
export function benchManifests(bed: Bed, patterns: readonly string[], audit = 'async'): string {
  const ca = readFileSync(bed.caFile, 'utf8').trim().replaceAll('\n', '\n      ')
  const documents = [
    `kind: Gateway\nmetadata: {name: local}\nspec: {audit: ${audit}, rateLimit: {requestsPerMinute: 1000000}}`,
    `kind: Connector\nmetadata: {name: llm}\nspec:\n  type: llm_a\n  domains: [api.openai.com, '*.bench.example']\n` +
      `  credential: {secretRef: {name: llm, key: token}}\n  upstream:\n    url: https://127.0.0.1:${bed.upstreamPort}\n` +
      `    allowPrivateAddresses: true\n    caBundle: |\n      ${ca}`,
  ].map((text) => `apiVersion: chaperone.dev/v1alpha1\n${text}`)
  documents.push(
    `apiVersion: chaperone.dev/v1alpha1\nkind: Connector\nmetadata: {name: files}\nspec:\n  type: generic\n` +
      `  domains: [files.bench.test]\n  credential: {secretRef: {name: llm, key: token}}\n  upstream:\n` +
      `    url: https://127.0.0.1:${bed.upstreamPort}\n    allowPrivateAddresses: true\n    caBundle: |\n      ${ca}`,
    `apiVersion: chaperone.dev/v1alpha1\nkind: Permission\nmetadata: {name: files}\nspec:\n  gatewayRefs: [{ name: local }]\n` +
      `  rules:\n  - {connectorType: generic, actionPattern: 'generic.*', decision: allow}`,
  )
  documents.push(
    'apiVersion: v1\nkind: Secret\nmetadata: {name: llm}\nstringData: {token: sk-bench-injected}',
  )
  for (let at = 0; at < patterns.length; at += 250) {
    const rules = patterns
      .slice(at, at + 250)
      .map((p) => `  - {connectorType: llm_a, actionPattern: '${p}', decision: allow}`)
    const head = `apiVersion: chaperone.dev/v1alpha1\nkind: Permission\nmetadata: {name: bench-${at}}\nspec:\n  gatewayRefs: [{ name: local }]\n  rules:\n`
    documents.push(head + rules.join('\n'))
  }
  return documents.join('\n---\n')
}

async function startPeer(
  bed: Bed,
  script: string,
  name: string,
  via: Target['via'],
): Promise<Subject | string> {
  installPeers()
  const state = mkdtempSync(join(bed.folder, 'peer-'))
  const served = await serve(PEERS + script, {
    UPSTREAM_PORT: String(bed.upstreamPort),
    CA_FILE: bed.caFile,
    KEY_FILE: bed.keyFile,
    CERT_FILE: bed.certFile,
    STATE_DIR: state,
    RECORDS_FILE: join(state, 'records.jsonl'),
    ALLOW_ALL: '1',
  })
  return {
    name,
    pid: served.pid,
    target: { port: served.port, via, ca: null },
    finish: async () => {
      await end(served.child)
      return linesOf(join(state, 'records.jsonl'))
    },
  }
}

/** Once, on the first use: these packages are the bench's own and no dependency of the product. */
function installPeers(): void {
  if (existsSync(`${PEERS}node_modules`)) return
  console.error('bench: installing the peers (once) ...')
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'], {
    cwd: PEERS,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

async function startMitmdump(bed: Bed): Promise<Subject | string> {
  if (!isInstalled('mitmdump')) return 'not installed (pip install mitmproxy)'
  const port = await freePort()
  const state = mkdtempSync(join(bed.folder, 'mitm-'))
  const trust = `ssl_verify_upstream_trusted_ca=${bed.caFile}`
  const args = [
    '-q',
    '-p',
    String(port),
    '--listen-host',
    '127.0.0.1',
    '-s',
    `${PEERS}mitm_addon.py`,
    '--set',
    trust,
  ]
  const child = spawn(
    'mitmdump',
    [...args, '--set', `confdir=${state}`, '--set', 'connection_strategy=lazy'],
    {
      env: {
        ...process.env,
        UPSTREAM_PORT: String(bed.upstreamPort),
        RECORDS_FILE: join(state, 'records.jsonl'),
      },
      stdio: 'ignore',
    },
  )
  return started('mitmdump', child, {
    target: { port, via: 'connect', ca: null },
    records: () => linesOf(join(state, 'records.jsonl')),
  })
}

async function startHaproxy(bed: Bed): Promise<Subject | string> {
  if (!isInstalled('haproxy')) return 'not installed (apt-get install haproxy)'
  const port = await freePort()
  const folder = join(bed.folder, 'haproxy')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'front.pem'),
    readFileSync(bed.certFile, 'utf8') + readFileSync(bed.keyFile, 'utf8'),
  )
  const map = Array.from({ length: 999 }, (_, i) => `/v1/bench_${i} allow`).concat('/v1/ allow')
  writeFileSync(join(folder, 'permissions.map'), `${map.join('\n')}\n`)
  const log = await receiveLog()
  writeFileSync(join(folder, 'haproxy.cfg'), haproxyConfig(bed, { folder, port, logPort: log.port }))
  const child = spawn('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore' })
  return started('haproxy', child, {
    target: { port, via: 'reverse', ca: readFileSync(bed.caFile, 'utf8') },
    records: log.close,
  })
}

type HaproxyPlace = { readonly folder: string; readonly port: number; readonly logPort: number }

function haproxyConfig(bed: Bed, { folder, port, logPort }: HaproxyPlace): string {
  return `global
  nbthread 1
  maxconn 4000
  log 127.0.0.1:${logPort} local0
defaults
  mode http
  log global
  option httplog
  timeout connect 10s
  timeout client 300s
  timeout server 300s
frontend agents
  bind 127.0.0.1:${port} ssl crt ${join(folder, 'front.pem')}
  http-request set-var(txn.decision) path,map_beg(${join(folder, 'permissions.map')},deny)
  http-request deny if { var(txn.decision) -m str deny }
  http-request set-header Authorization "Bearer sk-bench-injected"
  default_backend upstream
backend upstream
  http-reuse always
  server upstream 127.0.0.1:${bed.upstreamPort} ssl verify required ca-file ${bed.caFile} sni str(api.openai.com) verifyhost api.openai.com
`
}

/** Where haproxy's one line per request goes: somebody has to take it, or sending it fails. */
async function receiveLog(): Promise<{ readonly port: number; close(): number }> {
  const socket = createSocket('udp4')
  let lines = 0
  socket.on('message', (line) => {
    // A connection that was only probed is logged too, without a request.
    if (/"(?:GET|POST) /.test(line.toString('latin1'))) lines += 1
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    port: socket.address().port,
    close() {
      socket.close()
      return lines
    },
  }
}

type Given = { readonly target: Target; readonly records: () => number }

async function started(name: string, child: ChildProcess, { target, records }: Given): Promise<Subject> {
  await listening(target.port, child)
  return {
    name,
    pid: child.pid ?? 0,
    target,
    finish: async () => {
      await end(child)
      return records()
    },
  }
}

function linesOf(file: string): number {
  return readFileSync(file, 'utf8').split('\n').length - 1
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 300 && child.exitCode === null; attempt += 1) {
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true))
      socket.once('connect', () => socket.destroy())
      socket.once('error', () => resolve(false))
    })
    if (isUp) return
    await sleep(100)
  }
  throw new Error(`${child.spawnfile} does not listen on ${port}`)
}

function isInstalled(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export function makeFolder(): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-bench-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
