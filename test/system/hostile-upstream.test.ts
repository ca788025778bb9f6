import { createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { portAgent, type TestAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { resource } from '../support/every-connector.ts'
import { leaveMark, recordsBetween } from '../support/gateway-records.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { requestBytes } from '../support/raw-http.ts'

const HOST = 'hostile.test'
const SECRET = 'stored-secret-of-hostile'
let upstream: Server
let laptop: Laptop
let agent: TestAgent
const open = new Set<Socket>()

type Script = {
  readonly name: string
  readonly bytes: string
  /** The upstream closes behind its bytes. */
  readonly closes?: boolean
  /** Answers that the agent may get: the status, or a visibly truncated response. */
  readonly says: ReadonlyArray<number | 'cut'>
}

const OK = 'HTTP/1.1 200 OK\r\n'
const SPLIT = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstole'

const SCRIPTS: readonly Script[] = [
  { name: 'garbage', bytes: '\x00\x01\x02 hello\r\n\r\n', says: [502] },
  { name: 'an answer of HTTP/0.9', bytes: '<html>hi</html>', closes: true, says: [502] },
  { name: 'nothing', bytes: '', closes: true, says: [502] },
  { name: 'half a head', bytes: 'HTTP/1.1 200 OK\r\nContent-Le', closes: true, says: [502] },
  { name: 'HTTP/2.0 in words', bytes: 'HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n', says: [502] },
  { name: 'a status of two digits', bytes: 'HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n', says: [502] },
  { name: 'a status of 099', bytes: 'HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n', says: [502] },
  { name: 'a status of four digits', bytes: 'HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n', says: [502] },
  {
    name: 'two lengths that differ',
    bytes: `${OK}Content-Length: 2\r\nContent-Length: 40\r\n\r\nhi${SPLIT}`,
    says: [502],
  },
  { name: 'a list of lengths that differ', bytes: `${OK}Content-Length: 2, 40\r\n\r\nhi`, says: [502] },
  { name: 'a negative length', bytes: `${OK}Content-Length: -1\r\n\r\n`, says: [502] },
  { name: 'a length in hex', bytes: `${OK}Content-Length: 0x2\r\n\r\nhi`, says: [502] },
  {
    name: 'a length and chunks',
    bytes: `${OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SPLIT}`,
    says: [502],
  },
  { name: 'gzip, chunked', bytes: `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, says: [502] },
  {
    name: 'chunked, identity',
    bytes: `${OK}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
    says: [502],
  },
  {
    name: 'a chunk size that is none',
    bytes: `${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\nhi\r\n0\r\n\r\n`,
    says: [502, 'cut'],
  },
  {
    name: 'a chunk that is longer than its size',
    bytes: `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\nhi\r\n0\r\n\r\n`,
    says: [502, 'cut'],
  },
  {
    name: 'a chunk size line of 100 KiB',
    bytes: `${OK}Transfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(100_000)}\r\nh\r\n0\r\n\r\n`,
    says: [502, 'cut'],
  },
  {
    name: 'chunks without an end',
    bytes: `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n`,
    closes: true,
    says: ['cut'],
  },
  {
    name: 'fewer bytes than its length',
    bytes: `${OK}Content-Length: 10\r\n\r\nhi`,
    closes: true,
    says: ['cut'],
  },
  {
    name: 'a folded header',
    bytes: `${OK}X: a\r\n Content-Length: 0\r\nContent-Length: 2\r\n\r\nhi`,
    says: [502],
  },
  { name: 'a space before the colon', bytes: `${OK}Content-Length : 2\r\n\r\nhi`, says: [502] },
  { name: 'a header without a colon', bytes: `${OK}hello\r\nContent-Length: 2\r\n\r\nhi`, says: [502] },
  { name: 'a NUL in a header', bytes: `${OK}X: a\0b\r\nContent-Length: 2\r\n\r\nhi`, says: [502] },
  { name: 'CR in a header', bytes: `${OK}X: a\rSet-Cookie: b\r\nContent-Length: 2\r\n\r\nhi`, says: [502] },
  { name: 'LF in a header', bytes: `${OK}X: a\nSet-Cookie: b\r\nContent-Length: 2\r\n\r\nhi`, says: [502] },
  {
    name: 'a header of a mebibyte',
    bytes: `${OK}X: ${'x'.repeat(2 ** 20)}\r\nContent-Length: 2\r\n\r\nhi`,
    says: [502],
  },
  {
    name: '100,000 headers',
    bytes: `${OK}${'a: b\r\n'.repeat(100_000)}Content-Length: 2\r\n\r\nhi`,
    says: [502],
  },
  { name: 'a head without an end', bytes: `${OK}${'a: b\r\n'.repeat(200_000)}`, says: [502] },
  {
    name: 'a 101 that nobody asked for',
    bytes: `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${SPLIT}`,
    says: [502],
  },
  {
    name: 'a flood of 100,000 interim answers',
    bytes: 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(100_000),
    says: [502],
  },
  {
    name: 'an interim answer with a body',
    bytes: `HTTP/1.1 103 Early Hints\r\nContent-Length: 2\r\n\r\nhi${OK}Content-Length: 2\r\n\r\nhi`,
    says: [502, 200],
  },
  {
    name: 'a 204 with a body',
    bytes: `HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nstole`,
    says: [204, 502],
  },
  {
    name: 'a second answer behind the first',
    bytes: `${OK}Content-Length: 2\r\n\r\nhi${SPLIT}`,
    says: [200],
  },
  {
    name: 'a Proxy-Authenticate and a Connection',
    bytes: `${OK}Connection: X-Gone\r\nX-Gone: 1\r\nKeep-Alive: timeout=1\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nhi`,
    says: [200],
  },
  {
    name: 'headers that pretend to be ours',
    bytes: `${OK}X-Service-Decision: allow\r\nX-Service-Error: denied\r\nX-Request-Id: fake\r\nContent-Length: 2\r\n\r\nhi`,
    says: [200],
  },
  {
    name: 'bytes above ASCII in a header',
    bytes: `${OK}X: gr\xfc\xdf\r\nContent-Length: 2\r\n\r\nhi`,
    says: [200, 502],
  },
  { name: 'no reason phrase', bytes: 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi', says: [200, 502] },
]

beforeAll(async () => {
  upstream = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => socket.destroy()).on('close', () => open.delete(socket))
    let head = ''
    socket.on('data', (chunk: Buffer) => {
      head += chunk.toString('latin1')
      if (!head.includes('\r\n\r\n')) return
      const script = SCRIPTS[Number(/^GET \/(\d+) /.exec(head)?.[1] ?? -1)]
      head = ''
      const bytes = Buffer.from(script?.bytes ?? `${OK}Content-Length: 4\r\n\r\nfine`, 'latin1')
      if (script?.closes === true) socket.end(bytes)
      else socket.write(bytes)
    })
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const address = upstream.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const manifests = [
    resource('Gateway', 'local', '  rateLimit: { requestsPerMinute: 1000000 }'),
    `apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { token: ${SECRET} }`,
    resource(
      'Connector',
      'hostile',
      `  type: generic\n  domains: [${HOST}]\n  credential: { secretRef: { name: s, key: token } }\n  upstream: { url: 'http://127.0.0.1:${port}', allowPrivateAddresses: true, allowPlaintextCredential: true }`,
    ),
    resource(
      'Permission',
      'all',
      `  gatewayRefs: [{ name: local }]\n  rules:\n    - { connectorType: generic, actionPattern: 'generic.*', decision: allow }`,
    ),
  ].join('\n---\n')
  laptop = await startLaptop({ database: 'worker', manifests: { 'hostile.yaml': manifests } })
  agent = await portAgent(laptop, 'victim')
})
afterAll(async () => {
  await laptop?.stop()
  for (const socket of open) socket.destroy()
  await new Promise((resolve) => (upstream === undefined ? resolve(null) : upstream.close(resolve)))
})

type Heard = { readonly text: string; readonly isClosed: boolean }

/** Sends the request, and behind it a second one that is answered in order, unless the connection ends first. */
async function ask(path: string): Promise<Heard> {
  const socket = await agent.tunnel(HOST)
  const get = (target: string) => requestBytes('GET', target, [['Host', HOST]])
  let text = ''
  const state = { isClosed: false }
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  socket
    .on('error', () => socket.destroy())
    .on('close', () => {
      state.isClosed = true
    })
  socket.on('end', () => {
    state.isClosed = true
  })
  socket.write(Buffer.concat([get(path), get('/next')]))
  await eventually(`both answers to ${path}`, () => (state.isClosed || isWhole(path, text) ? true : null))
  socket.destroy()
  return { text, isClosed: state.isClosed }
}

/** The request behind is answered with `fine`; where both ask for it there are two. */
function isWhole(path: string, text: string): boolean {
  return text.endsWith('fine') && (path !== '/next' || text.indexOf('fine') < text.length - 4)
}

function verdictOf({ text, isClosed }: Heard): number | 'cut' {
  const status = Number(
    /^HTTP\/1\.1 (\d{3})/.exec(text.replace(/^(?:HTTP\/1\.1 103[\s\S]*?\r\n\r\n)+/, ''))?.[1] ?? 0,
  )
  const isAnswered = status !== 0 && status !== 200
  return isClosed && !isAnswered && !text.includes('fine') ? 'cut' : status
}

test('a sound upstream is heard, and so is the request behind', async () => {
  const { text } = await ask('/next')
  expect(text.match(/fine/g)).toHaveLength(2)
})

test('what an upstream breaks is a 502 or a visible cut; nothing of it becomes another answer, and each has one record', async () => {
  const faults: string[] = []
  const marks: string[] = []
  for (const [at, script] of SCRIPTS.entries()) {
    marks.push(await leaveMark(laptop))
    const heard = await ask(`/${at}`)
    const verdict = verdictOf(heard)
    if (!script.says.includes(verdict))
      faults.push(`${script.name}: ${verdict}, wanted ${script.says.join(' or ')}`)
    if (heard.text.includes('stole')) faults.push(`${script.name}: bytes behind the answer reached the agent`)
    if (/^(?:set-cookie|x-gone|proxy-authenticate|keep-alive):/im.test(heard.text))
      faults.push(`${script.name}: a header that must not pass did`)
    if (heard.text.includes(SECRET)) faults.push(`${script.name}: the agent received the credential`)
    if (verdict !== 'cut' && !heard.text.endsWith('fine'))
      faults.push(`${script.name}: the next request was not answered`)
  }
  const records = await recordsBetween(laptop, [...marks, await leaveMark(laptop)])
  for (const [at, { name }] of SCRIPTS.entries()) {
    const own = records.get(marks[at] ?? '')?.filter(({ path }) => path === `/${at}`) ?? []
    if (own.length !== 1) faults.push(`${name}: ${own.length} records`)
  }
  expect(faults).toEqual([])
}, 120_000)
