// The least that Node does for a forwarded request: HTTP/1.1 framed by hand on TLS sockets, one kept connection upstream for
// each of an agent. The work of governance.mjs is in it, so that it does the same job as the others. No limits, no checks of
// framing, no streaming: it is a measure of the runtime, not a proxy.
import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { govern, ready, record, SECRET } from './governance.mjs'

const port = Number(process.env.UPSTREAM_PORT)
const ca = readFileSync(process.env.CA_FILE)
const server = tls.createServer({
  key: readFileSync(process.env.KEY_FILE),
  cert: readFileSync(process.env.CERT_FILE),
  ALPNProtocols: ['http/1.1'],
})
server.on('secureConnection', (agent) => {
  const upstream = tls.connect({ host: '127.0.0.1', port, ca, servername: 'api.openai.com', ALPNProtocols: ['http/1.1'] })
  const started = []
  const close = () => {
    agent.destroy()
    upstream.destroy()
  }
  for (const socket of [agent, upstream]) socket.setNoDelay(true).on('error', close).on('close', close)
  agent.on('data', messages((head, body) => {
    const [method, path] = head.slice(0, head.indexOf('\r\n')).split(' ')
    const { action, decision } = govern(method, path)
    if (decision !== 'allow') return void agent.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')
    started.push({ action, decision, at: performance.now() })
    const sent = head.replace(/\r\nAuthorization: [^\r]*/i, '').replace('\r\n', `\r\nAuthorization: ${SECRET}\r\n`)
    upstream.write(Buffer.concat([Buffer.from(sent, 'latin1'), body]))
  }))
  upstream.on('data', messages((head, body) => {
    const { action, decision, at } = started.shift()
    record(action, decision, Number(head.slice(9, 12)), at)
    agent.write(Buffer.concat([Buffer.from(head, 'latin1'), body]))
  }))
})
server.listen(0, '127.0.0.1', () => ready(server.address().port))

/** Calls `onMessage` with each whole message: head with its empty line, and the body of its Content-Length. */
function messages(onMessage) {
  let held = null
  return (chunk) => {
    held = held === null ? chunk : Buffer.concat([held, chunk])
    while (held !== null) {
      const end = held.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = held.latin1Slice(0, end + 4)
      const whole = end + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
      if (held.length < whole) return
      onMessage(head, held.subarray(end + 4, whole))
      held = held.length === whole ? null : held.subarray(whole)
    }
  }
}
