import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * TCP relay in front of a server on this machine. The relay can refuse connections, or drop their bytes like a network that
 * drops packets.
 */
export type TcpRelay = AsyncDisposable & {
  readonly port: number
  /** URL of the target with the port of the relay. */
  readonly url: string
  /** Refuses new connections and closes the open connections. */
  refuse(): Promise<void>
  /**
   * Drops the bytes of both directions on open connections. Also drops them on new connections, unless `onlyOpen` is true.
   */
  swallow(options?: { readonly onlyOpen?: boolean }): void
  /** Accepts connections and forwards their bytes again. Connections whose bytes were dropped stay unusable. */
  restore(): Promise<void>
  /** Delivers bytes of later connections so many milliseconds late, in both directions. */
  delay(ms: number): void
  /** Connects later connections to another server. */
  retarget(url: string): void
  /** Closes the open connections. */
  cut(): void
  readonly accepted: number
  /** Number of bytes that the relay received and dropped. */
  readonly swallowed: number
}

export async function startTcpRelay(target: string): Promise<TcpRelay> {
  let { hostname, port } = new URL(target)
  const pairs = new Set<{ readonly near: Socket; readonly far: Socket; isDead: boolean }>()
  let isSwallowing = false
  let accepted = 0
  let swallowed = 0
  let delayMs = 0
  const server = createServer({ allowHalfOpen: true }, (near) => {
    accepted++
    const far = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    const pair = { near, far, isDead: isSwallowing }
    const lateMs = delayMs
    pairs.add(pair)
    const pass = (from: Socket, to: Socket) => {
      from.on('data', (bytes) => {
        if (pair.isDead) swallowed += bytes.length
        else if (lateMs === 0) to.write(bytes)
        else setTimeout(() => void (to.destroyed || to.write(bytes)), lateMs)
      })
      from.on('end', () => void (pair.isDead || to.end()))
      from.on('error', () => void (pair.isDead || to.destroy()))
      // A pair whose bytes are dropped keeps one socket open when the other socket closes, so `endAll` must still find the
      // pair.
      from.on('close', () => void (to.destroyed && pairs.delete(pair)))
    }
    pass(near, far)
    pass(far, near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = (server.address() as AddressInfo).port
  const url = new URL(target)
  url.port = String(own)
  const endAll = () => {
    for (const { near, far } of pairs) {
      near.destroy()
      far.destroy()
    }
  }
  const close = async () => {
    endAll()
    if (server.listening) await new Promise((done) => server.close(done))
  }
  return {
    port: own,
    url: url.href.replace(/\/$/, ''),
    get accepted() {
      return accepted
    },
    get swallowed() {
      return swallowed
    },
    delay(ms) {
      delayMs = ms
    },
    retarget(to) {
      ;({ hostname, port } = new URL(to))
    },
    cut: endAll,
    refuse: close,
    swallow({ onlyOpen = false } = {}) {
      for (const pair of pairs) pair.isDead = true
      isSwallowing = !onlyOpen
    },
    async restore() {
      isSwallowing = false
      if (server.listening) return
      server.listen(own, '127.0.0.1')
      await once(server, 'listening')
    },
    [Symbol.asyncDispose]: close,
  }
}
