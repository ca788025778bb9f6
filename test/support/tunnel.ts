import { connect, isIP, type Socket } from 'node:net'
import tls from 'node:tls'

/**
 * Address of the server under test. `connect`: a proxy that is reached with CONNECT. `reverse`: a server that terminates TLS
 * itself.
 */
export type Target = {
  readonly port: number
  readonly via: 'connect' | 'reverse'
  readonly proxyAuthorization?: string
  /** CA certificate (PEM) that signed the certificate of the server under test. Null disables verification. */
  readonly ca: string | null
}

/** Returns the Proxy-Authorization header line with the agent's key; empty for a server that takes no key. */
export function proxyKeyLine({ proxyAuthorization }: Target): string {
  return proxyAuthorization === undefined ? '' : `Proxy-Authorization: ${proxyAuthorization}\r\n`
}

/**
 * Returns the head of a CONNECT request with the agent's key. `hostHeader` is the value of the Host header, if it differs
 * from the authority.
 */
export function connectHead(target: Target, authority: string, hostHeader = authority): string {
  return `CONNECT ${authority} HTTP/1.1\r\nHost: ${hostHeader}\r\n${proxyKeyLine(target)}\r\n`
}

export async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return socket
}

/** Opens a TLS connection to `host` through the server under test. Rejects with the response when CONNECT is refused. */
export async function openTunnel(
  target: Target,
  host: string,
  alpn: readonly string[] = ['http/1.1'],
): Promise<tls.TLSSocket> {
  const socket = await openSocket(target.port)
  if (target.via === 'connect') await sendConnect(socket, target, host)
  const secured = tls.connect({
    socket,
    ...nameOf(host),
    ALPNProtocols: [...alpn],
    ...(target.ca === null ? { rejectUnauthorized: false } : { ca: target.ca }),
  })
  await new Promise<void>((resolve, reject) => secured.once('secureConnect', resolve).once('error', reject))
  return secured
}

/** Returns the TLS options for a host. An IP address has no SNI; its certificate is verified against the address. */
function nameOf(host: string): { servername: string; host?: string } {
  const bare = host.replace(/^\[|\]$/g, '')
  return isIP(bare) === 0 ? { servername: host } : { servername: '', host: bare }
}

function sendConnect(socket: Socket, target: Target, host: string): Promise<void> {
  socket.write(connectHead(target, `${host}:443`))
  return new Promise((resolve, reject) => {
    let answer = ''
    const onData = (chunk: Buffer): void => {
      answer += chunk.toString('latin1')
      // Some proxies send the response head in several packets. TLS starts only after the complete head.
      if (!answer.includes('\r\n\r\n')) return
      socket.off('data', onData)
      if (/^HTTP\/1\.[01] 200/.test(answer)) resolve()
      else reject(new Error(`CONNECT was answered: ${answer.slice(0, 600)}`))
    }
    socket.on('data', onData)
    socket.once('error', reject)
    socket.once('end', () => reject(new Error(`the connection ended after "${answer.slice(0, 600)}"`)))
  })
}
