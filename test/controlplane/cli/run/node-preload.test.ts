import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const PRELOAD = new URL('../../../../controlplane/cli/run/node-preload/preload.cjs', import.meta.url).pathname

let proxy: Server
const asked: string[] = []
beforeAll(async () => {
  proxy = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.once('data', (head) => {
      const [line = ''] = String(head).split('\r\n')
      asked.push(String(head))
      if (line.includes(' half.test')) socket.end('HTTP/1.1 200')
      else if (line.includes(' endless.test')) socket.write(`HTTP/1.1 200 ${'x'.repeat(70_000)}`)
      else if (line.includes(' no.test'))
        socket.end('HTTP/1.1 403 No\r\nContent-Length: 18\r\n\r\n{"message":"never"')
      else if (line.includes(' no-reason.test')) socket.end('HTTP/1.1 502 No\r\n\r\n')
      else if (!line.includes(' silent.test')) {
        for (const byte of 'HTTP/1.1 200 OK\r\n\r\nfirst') socket.write(byte)
        socket.on('data', (chunk) => socket.write(`+${chunk}`)).on('end', () => socket.end())
      }
    })
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
})
afterAll(() => new Promise((resolve) => proxy.close(resolve)))

/** Runs an expression that creates a socket; resolves with the received bytes, the error and the requests to the proxy. */
async function connecting(expression: string) {
  const before = asked.length
  const code = `const net = require('net'), tls = require('tls'); let text = ''
    const done = (error) => { process.stdout.write(JSON.stringify({ text, error })); process.exit() }
    try {
      const socket = ${expression}
      socket.on('data', (chunk) => { text += chunk }).on('end', () => done()).on('timeout', () => done('timeout'))
      socket.on('error', (error) => done(error.code + ' ' + error.message))
    } catch (error) { done(error.code) }`
  const { port } = proxy.address() as AddressInfo
  const child = spawn(process.execPath, ['--require', PRELOAD, '-e', code], {
    env: { HTTPS_PROXY: `http://me:k%40y@127.0.0.1:${port}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  for await (const chunk of child.stdout) out += String(chunk)
  return { ...(JSON.parse(out) as { text: string; error?: string }), asked: asked.slice(before) }
}

test.each([
  ['a host and a port', `net.connect(5432, 'db.test').end('a')`, 'db.test:5432'],
  ['a port as text', `net.connect({ host: 'x.test', port: '0x1BB' }).end('a')`, 'x.test:443'],
  ['an IPv6 address', `net.connect({ host: '2001:db8::1', port: 1 }).end('a')`, '[2001:db8::1]:1'],
  [
    'an IPv4 address in IPv6',
    `net.connect({ host: '::ffff:8.8.8.8', port: 1 }).end('a')`,
    '[::ffff:8.8.8.8]:1',
  ],
  ['a name that begins like loopback', `net.connect(1, '127.evil.test').end('a')`, '127.evil.test:1'],
  [
    'a name that begins with localhost',
    `net.connect(1, 'localhost.evil.test').end('a')`,
    'localhost.evil.test:1',
  ],
  ['another spelling of loopback', `net.connect(1, '127.1').end('a')`, '127.0.0.1:1'],
  ['a name that is not ASCII', `net.connect(1, 'münchen.test').end('a')`, 'xn--mnchen-3ya.test:1'],
  [
    'a resolver of its own',
    `net.connect({ host: 'l.test', port: 1, lookup() { throw 1 } }).end('a')`,
    'l.test:1',
  ],
  ['a socket made before', `new net.Socket().connect({ host: 's.test', port: 1 }).end('a')`, 's.test:1'],
])(
  'a connection with %s goes through the tunnel, and early bytes keep their place',
  async (_what, code, authority) => {
    const seen = await connecting(code)
    expect(seen.asked).toHaveLength(1)
    expect(seen.asked[0]).toBe(
      `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\nProxy-Authorization: Basic bWU6a0B5\r\n\r\n`,
    )
    expect(seen).toMatchObject({ text: 'first+a' })
  },
)

test.each([
  ['a refusal', `net.connect(1, 'no.test')`, /^ERR_PROXY_TUNNEL .*no\.test:1/],
  ['a refusal, with TLS', `tls.connect({ host: 'no.test', port: 1 })`, /^ERR_PROXY_TUNNEL .*no\.test:1/],
  ['a refusal without a reason', `net.connect(1, 'no-reason.test')`, /^ERR_PROXY_TUNNEL/],
  ['half an answer', `net.connect(1, 'half.test')`, /^ERR_PROXY_TUNNEL/],
  ['an endless answer', `net.connect(1, 'endless.test')`, /^ERR_PROXY_TUNNEL/],
  ['no answer', `net.connect({ host: 'silent.test', port: 1, timeout: 50 })`, /^timeout/],
  ['no answer, with TLS', `tls.connect({ host: 'silent.test', port: 1, timeout: 50 })`, /^timeout/],
])('%s is an error of the socket', async (_what, code, error) => {
  const seen = await connecting(code)
  expect(seen.error).toMatch(error)
  expect(seen.text).toBe('')
})

test.each([
  ['a line break in the name', `net.connect(1, 'a\\r\\nX-Evil: 1')`, /host name is not valid/],
  ['a blank in the name', `net.connect(1, 'a b')`, /host name is not valid/],
  [
    'a buffer of its own',
    `net.connect({ host: 'x.test', port: 1, onread: { buffer: Buffer.alloc(9), callback() {} } })`,
    /onread/,
  ],
  [
    'TLS on a socket that cannot be tunnelled',
    `new tls.TLSSocket(undefined, {}).connect(443, 'x.test')`,
    /Use tls.connect/,
  ],
  ['a port that is none', `net.connect(70000, 'x.test')`, /ERR_SOCKET_BAD_PORT/],
  ['no port', `net.connect({ host: 'x.test' })`, /ERR_MISSING_ARGS/],
  ['a Unix socket', `net.connect('/nonexistent/x.sock')`, /ENOENT/],
  [
    'a Unix socket, with TLS',
    `tls.connect({ path: '/nonexistent/x.sock', host: 'x.test', port: 1 })`,
    /ENOENT/,
  ],
  ['loopback by name', `net.connect(1, 'LOCALHOST')`, /ECONNREFUSED/],
  ['loopback by address', `net.connect(1, '127.0.0.1')`, /ECONNREFUSED/],
])('the proxy is not used for %s', async (_what, code, error) => {
  const seen = await connecting(code)
  expect(seen.error).toMatch(error)
  expect(seen.asked).toEqual([])
})

test('the warning of Node 22 about its proxy support is suppressed, and other warnings are printed', async () => {
  const warn = (code: string) => `process.emitWarning('from the start: ${code}', { code: '${code}' })`
  const file = join(mkdtempSync(join(tmpdir(), 'preload-')), 'start.cjs')
  writeFileSync(file, `${warn('UNDICI-EHPA')};${warn('OTHER')}`)
  const script = `setTimeout(() => process.emitWarning('later', { code: 'UNDICI-EHPA' }), 1)`
  const child = spawn(process.execPath, ['--require', file, '--require', PRELOAD, '-e', script], {
    env: { HTTPS_PROXY: 'http://me:key@127.0.0.1:9', NODE_USE_ENV_PROXY: '1' },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  let printed = ''
  for await (const chunk of child.stderr) printed += String(chunk)
  rmSync(dirname(file), { recursive: true })
  expect(printed).not.toContain('from the start: UNDICI-EHPA')
  expect(printed).toContain('from the start: OTHER')
  expect(printed).toContain('later')
})
