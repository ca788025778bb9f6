import { createHash } from 'node:crypto'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { PROTOCOL_HEADER } from '../../../core/wire/gateway/greeting.ts'
import { PROTOCOL } from '../../../core/wire/gateway/sections/field-additions.ts'
import { PROCESS_HEADER, SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { createControlBackOff } from '../../../sidecar/control/back-off.ts'
import { STREAMS_PER_GATEWAY } from './fleet-bed.ts'

/**
 * Holds the streams of many gateway processes, as a process of its own. Fetches sections, acknowledges and reports its
 * status like a gateway. Environment: PORTS, TOKENS, FROM, STREAMS. Messages to the parent: `ready` once, then
 * `greeted` (every stream has its greeting, kill state and beat) and `inForce` (every stream has its sections) with the
 * time in ns of the monotonic clock, each time the last stream reaches it.
 */
const PORTS = (process.env['PORTS'] ?? '').split(',').map(Number)
/** Each token is that of the Gateway of 1,000 streams. */
const TOKENS = (process.env['TOKENS'] ?? '').split(',')
const FROM = Number(process.env['FROM'])
const STREAMS = Number(process.env['STREAMS'])
const STATUS_MS = 5_000

type Message = { readonly type: string; readonly [key: string]: unknown }
type Gateway = {
  readonly index: number
  readonly backoff: ReturnType<typeof createControlBackOff>
  readonly seen: Set<string>
  known: Readonly<Record<string, string>>
  attempt: number
  isInForce: boolean
}

const agents = PORTS.map(() => new Agent({ keepAlive: true, maxSockets: 32 }))
const counts = { greeted: 0, inForce: 0, refused: 0, bytes: 0, fetched: 0 }
let expected: { readonly isStopped: boolean; readonly at: Map<number, bigint> } | null = null

process.on('message', (message: Message) => {
  if (message.type === 'expect') expected = { isStopped: message['stopped'] === true, at: new Map() }
  if (message.type === 'counts') process.send?.({ type: 'counts', ...counts })
})
process.on('disconnect', () => process.exit(0))

for (let index = FROM; index < FROM + STREAMS; index += 1) {
  const backoff = createControlBackOff(Math.random)
  open({ index, backoff, seen: new Set(), known: {}, attempt: 0, isInForce: false })
}
process.send?.({ type: 'ready', port: 0 })

function headersOf({ index }: Gateway): Record<string, string> {
  return {
    authorization: `Bearer ${TOKENS[Math.floor(index / STREAMS_PER_GATEWAY)]}`,
    [PROCESS_HEADER]: `proc_bench_${index}`,
    [PROTOCOL_HEADER]: String(PROTOCOL),
  }
}

function open(gateway: Gateway): void {
  const place = (gateway.index + gateway.attempt) % PORTS.length
  const socket = connect(PORTS[place] ?? 0, '127.0.0.1')
  let retryAfterMs = 0
  let isRefused = false
  socket.setTimeout(20_000, () => socket.destroy())
  socket.on('error', () => undefined)
  socket.once('connect', () => {
    const lines = Object.entries(headersOf(gateway)).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET ${SYNC_PATHS.stream} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}\r\n`)
  })
  const status = setInterval(() => {
    if (gateway.seen.has('hello')) void post(gateway, place, SYNC_PATHS.status, statusOf(gateway))
  }, STATUS_MS)
  readLines(socket, (line) => {
    if (/^HTTP\/1\.1 (?!200)\d+/.test(line)) {
      counts.refused += 1
      isRefused = true
    }
    const seconds = /^retry-after: (\d+)/i.exec(line)?.[1]
    if (seconds !== undefined) retryAfterMs = Number(seconds) * 1_000 * (0.5 + Math.random())
    // The end of the head, which has the time to wait.
    if (isRefused && line === '') socket.destroy()
    else if (line.startsWith('{')) receive(gateway, place, JSON.parse(line) as Message)
  })
  socket.once('close', () => {
    clearInterval(status)
    lost(gateway)
    gateway.attempt += 1
    setTimeout(open, Math.max(retryAfterMs, gateway.backoff.next()), gateway)
  })
}

/** Lines of JSON are whole in the chunks of the response; chunk sizes are no JSON. */
function readLines(socket: Socket, onLine: (line: string) => void): void {
  let rest = ''
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    counts.bytes += text.length
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line.trimEnd())
  })
}

function receive(gateway: Gateway, place: number, message: Message): void {
  const isGreeted = isComplete(gateway)
  gateway.seen.add(message.type)
  if (message.type === 'hello') gateway.backoff.reset()
  if (message.type === 'kill') killed(gateway, place, message)
  if (message.type === 'sections') void apply(gateway, place, message)
  if (!isGreeted && isComplete(gateway)) reached('greeted')
}

function isComplete({ seen }: Gateway): boolean {
  return seen.has('hello') && seen.has('kill') && seen.has('beat')
}

function lost(gateway: Gateway): void {
  if (isComplete(gateway)) counts.greeted -= 1
  if (gateway.isInForce) counts.inForce -= 1
  gateway.seen.clear()
  gateway.isInForce = false
}

function reached(what: 'greeted' | 'inForce'): void {
  counts[what] += 1
  if (counts[what] === STREAMS) process.send?.({ type: what, at: String(process.hrtime.bigint()) })
}

function killed(gateway: Gateway, place: number, { seq, effective }: Message): void {
  const isStopped = Array.isArray(effective) && effective.length > 0
  if (expected !== null && expected.isStopped === isStopped && !expected.at.has(gateway.index)) {
    expected.at.set(gateway.index, process.hrtime.bigint())
    if (expected.at.size === STREAMS) {
      process.send?.({ type: 'heard', at: [...expected.at.values()].map(String) })
      expected = null
    }
  }
  // The drivers share the machine with the control plane, so acknowledgements must not delay the messages of others.
  setTimeout(() => {
    void post(gateway, place, SYNC_PATHS.ack, { kill_seq: seq, applied_at: new Date().toISOString() })
  }, 100)
}

async function apply(gateway: Gateway, place: number, { version, sections }: Message): Promise<void> {
  const hashes = sections as Readonly<Record<string, string>>
  const changed = Object.entries(hashes).filter(([name, hash]) => gateway.known[name] !== hash)
  try {
    await Promise.all(changed.map(([name, hash]) => fetchSection(gateway, place, { name, hash })))
  } catch {
    // The next section index, or the next stream, starts the fetch again.
    return
  }
  gateway.known = hashes
  if (!gateway.isInForce && gateway.seen.has('sections')) {
    gateway.isInForce = true
    reached('inForce')
  }
  await post(gateway, place, SYNC_PATHS.ack, { version, applied_at: new Date().toISOString() })
}

type Wanted = { readonly name: string; readonly hash: string }

async function fetchSection(gateway: Gateway, place: number, { name, hash }: Wanted): Promise<void> {
  if (hash === EMPTY_LIST) return
  const path = `${SYNC_PATHS.sections}/${name}?hash=${hash}`
  const bytes = await call(gateway, place, { method: 'GET', path })
  if (createHash('sha256').update(bytes).digest('hex') !== hash) throw new Error(`${name} has another hash`)
  counts.fetched += 1
}

/** As in a gateway: the hash of an empty list suffices. */
const EMPTY_LIST = createHash('sha256').update('[]').digest('hex')

function statusOf({ isInForce }: Gateway) {
  return {
    ...{ url: 'http://127.0.0.1:8787', version: '0.0.0', applied_version: isInForce ? 1 : null, agents: 0 },
    ...{ uptime_seconds: 1, journal: { state: 'ok', pending: 0, bytes: 0 } },
  }
}

async function post(gateway: Gateway, place: number, path: string, body: object): Promise<void> {
  await call(gateway, place, { method: 'POST', path, body: JSON.stringify(body) }).catch(() => undefined)
}

type Call = { readonly method: string; readonly path: string; readonly body?: string }

function call(gateway: Gateway, place: number, { method, path, body }: Call): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const json =
      body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }
    const agent = agents[place]
    const to = {
      host: '127.0.0.1',
      port: PORTS[place],
      method,
      path,
      ...(agent === undefined ? {} : { agent }),
    }
    const sent = request({ ...to, headers: { ...headersOf(gateway), ...json } }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.once('error', reject)
      response.once('end', () => {
        const bytes = Buffer.concat(parts)
        counts.bytes += bytes.length
        if (response.statusCode === 200) resolve(bytes)
        else reject(new Error(`${path} answered ${response.statusCode}`))
      })
    })
    sent.once('error', reject)
    sent.end(body)
  })
}
