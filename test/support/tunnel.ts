import { connect, isIP, type Socket } from 'node:net'
import tls from 'node:tls'

/** How a subject is reached: through CONNECT, or as a server that terminates TLS itself. */
export type Target = {
  readonly port: number
  readonly via: 'connect' | 'reverse'
  readonly proxyAuthorization?: string
  /** PEM of the CA that signed what the subject presents; null to believe anything. */
  readonly ca: string | null
}

/** The header line that gives the key of the agent, or nothing where the subject takes none. */
export function proxyKeyLine({ proxyAuthorization }: Target): string {
  return proxyAuthorization === undefined ? '' : `Proxy-Authorization: ${proxyAuthorization}\r\n`
}

/** The head of CONNECT with the key of the agent. `hostHeader` is the Host header where it is not the authority. */
export function connectHead(target: Target, authority: string, hostHeader = authority): string {
  return `CONNECT ${authority} HTTP/1.1\r\nHost: ${hostHeader}\r\n${proxyKeyLine(target)}\r\n`
}

export async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return socket
}

/** A TLS connection to `host` through the subject. Rejects with the answer when CONNECT is refused. */
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

/** An address has no SNI; its certificate is checked against the address itself. */
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
      // Some proxies send the head of their answer in pieces: what comes after it is no TLS yet.
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
