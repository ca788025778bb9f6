import type { Duplex } from 'node:stream'
import tls from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TrafficRecord } from '../../core/record.ts'
import { keyedAgent, type TestAgent, testAgent } from '../support/agent.ts'
import { allowAll, type Everything, startEverything } from '../support/every-connector.ts'
import { leaveMark, recordsBetween } from '../support/gateway-records.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import type { Seen } from '../support/recorder.ts'
import { connectHead, openSocket, proxyKeyLine } from '../support/tunnel.ts'
import { type Attack, FRAMING, HOST, MEANING, SECOND } from './hostile-requests.ts'

let everything: Everything
let laptop: Laptop
let onPort: TestAgent
let keyed: TestAgent

beforeAll(async () => {
  everything = await startEverything({
    rules: {
      '*': [
        ...allowAll(),
        ['codehost', 'codehost.repo.delete', 'deny'],
        ['codehost', 'codehost.websocket.open', 'deny'],
      ],
    },
  })
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'everything.yaml': everything.manifests },
    env: { WHOLE_REFUSALS_PER_MINUTE: '100000' },
  })
  onPort = testAgent(laptop)
  keyed = await keyedAgent(laptop, 'keyed')
})
afterAll(async () => {
  await laptop?.stop()
  await everything?.recorder.close()
})

/** How bytes get in, and in which form a target has to be written there. */
type Way = {
  readonly name: string
  readonly open: () => Promise<Duplex>
  readonly prefix: string
  readonly auth: () => string
}

const WAYS: readonly Way[] = [
  { name: 'CONNECT with a key', open: () => keyed.tunnel(HOST), prefix: '', auth: () => '' },
  { name: 'CONNECT on an agent port', open: () => onPort.tunnel(HOST), prefix: '', auth: () => '' },
  { name: 'CONNECT inside TLS to an agent port', open: tunnelInTls, prefix: '', auth: () => '' },
  {
    name: 'absolute-form inside TLS to an agent port',
    open: () => tlsTo('localhost', { port: onPort.target.port, host: '127.0.0.1' }),
    prefix: `https://${HOST}`,
    auth: () => proxyKeyLine(onPort.target),
  },
  {
    name: 'absolute-form on an agent port',
    open: () => openSocket(onPort.target.port),
    prefix: `https://${HOST}`,
    auth: () => proxyKeyLine(onPort.target),
  },
  {
    name: 'absolute-form with a key',
    open: () => openSocket(keyed.target.port),
    prefix: `https://${HOST}`,
    auth: () => proxyKeyLine(keyed.target),
  },
]

/** TLS to the proxy on the agent's port, CONNECT with its key inside, and TLS to the host inside that. */
async function tunnelInTls(): Promise<Duplex> {
  const proxy = await tlsTo('localhost', { port: onPort.target.port, host: '127.0.0.1' })
  const answer = new Promise<string>((resolve, reject) => {
    proxy.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1'))).once('error', reject)
  })
  proxy.write(connectHead(onPort.target, `${HOST}:443`))
  expect(await answer).toMatch(/^HTTP\/1\.1 200 /)
  return tlsTo(HOST, { socket: proxy })
}

async function tlsTo(servername: string, to: tls.ConnectionOptions): Promise<Duplex> {
  const socket = tls.connect({
    ...to,
    servername,
    ca: onPort.target.ca ?? '',
    ALPNProtocols: ['http/1.1'],
  })
  await new Promise<void>((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
  return socket
}

type Heard = { readonly text: string; readonly isClosed: boolean }

/** Writes and listens until the other side closes, or has said enough, for at most `timeoutMs`. */
function converse(
  socket: Duplex,
  bytes: string,
  isEnough: (text: string) => boolean,
  timeoutMs = 20_000,
): Promise<Heard> {
  return new Promise((resolve) => {
    let text = ''
    const settle = (isClosed: boolean) => {
      clearTimeout(timer)
      resolve({ text, isClosed })
    }
    const timer = setTimeout(() => settle(false), timeoutMs)
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (isEnough(text)) settle(false)
    })
    socket.on('error', () => settle(true))
    socket.on('end', () => settle(true))
    socket.on('close', () => settle(true))
    socket.write(Buffer.from(bytes, 'latin1'))
  })
}

function statuses(text: string): readonly number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => Number(code))
}

function sound(attack: Attack): Attack {
  return { mustClose: attack.says.includes(431), ...attack }
}

function isAnswered(text: string, { says }: Attack): boolean {
  return statuses(text).length >= says.length && text.endsWith('}')
}

function attacksOver({ name }: Way): readonly Attack[] {
  return [...FRAMING, ...MEANING.map(sound), ...SECOND].filter(({ except }) => except?.test(name) !== true)
}

type Tried = {
  readonly attack: Attack
  readonly mark: string
  readonly heard: Heard
  readonly seen: readonly Seen[]
}

async function attempt(way: Way, attack: Attack): Promise<Tried> {
  const mark = await leaveMark(laptop)
  const from = everything.recorder.seen.length
  const text = attack.bytes.replaceAll('{T}', way.prefix).replaceAll('{A}', way.auth())
  const socket = await way.open()
  const heard = await converse(
    socket,
    text,
    (heard) => attack.mustClose === false && isAnswered(heard, attack),
  ).finally(() => socket.destroy())
  return { attack, mark, heard, seen: everything.recorder.seen.slice(from) }
}

function faultsOf({ attack, heard, seen }: Tried, records: readonly TrafficRecord[]): readonly string[] {
  const { name, says, arrives = [], records: count = 1 } = attack
  const faults: string[] = []
  const compare = (what: string, found: unknown, wanted: unknown) => {
    if (JSON.stringify(found) === JSON.stringify(wanted)) return
    faults.push(`${name}: ${what} ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`)
  }
  compare('statuses', statuses(heard.text), says)
  if (attack.mustClose !== false) compare('closed', heard.isClosed, true)
  compare(
    'arrived',
    seen.map(({ target }) => target),
    arrives,
  )
  compare('records', records.length, count)
  compare(
    'decisions',
    records.map(({ decision }) => decision),
    says.map((status) => (status === 200 ? 'ALLOW' : 'DENY')),
  )
  if (seen.some(({ rawHeaders }) => /\bown\b|trailer/i.test(rawHeaders.join('\n'))))
    faults.push(`${name}: a trailer arrived`)
  return faults
}

test.each(WAYS)(
  'over $name: each is answered as it deserves, ends the connection, reaches the upstream as allowed or not at all, and has one record',
  async (way) => {
    const tried: Tried[] = []
    for (const attack of attacksOver(way)) tried.push(await attempt(way, attack))
    const records = await recordsBetween(laptop, [...tried.map(({ mark }) => mark), await leaveMark(laptop)])
    expect(tried.flatMap((one) => faultsOf(one, records.get(one.mark) ?? []))).toEqual([])
  },
  120_000,
)

test('over absolute-form on an agent port without its key: none reaches the upstream, and each has its record of a refusal', async () => {
  const way: Way = {
    name: 'absolute-form without a key',
    open: () => openSocket(onPort.target.port),
    prefix: `https://${HOST}`,
    auth: () => '',
  }
  const tried: Tried[] = []
  for (const attack of attacksOver(way)) tried.push(await attempt(way, attack))
  const records = await recordsBetween(laptop, [...tried.map(({ mark }) => mark), await leaveMark(laptop)])
  const faults = tried.flatMap(({ attack: { name, records: count = 1 }, mark, seen }) => {
    const found = (records.get(mark) ?? []).map(({ decision, agent }) => [decision, agent])
    const isRefused =
      found.length === count && found.every(([decision, agent]) => decision === 'DENY' && agent === null)
    return isRefused && seen.length === 0 ? [] : [`${name}: ${JSON.stringify(found)}, ${seen.length} arrived`]
  })
  expect(faults).toEqual([])
}, 120_000)
