import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Relay before a server on this machine: it can refuse, or swallow what it is sent as a network that drops packets. */
export type TcpRelay = AsyncDisposable & {
  readonly port: number
  /** The address with the port of the relay. */
  readonly url: string
  /** Refuses new connections and ends the open ones. */
  refuse(): Promise<void>
  /** From now on nothing passes in either direction, on open connections and (unless only those) on new ones. */
  swallow(options?: { readonly onlyOpen?: boolean }): void
  /** Lets new connections pass. Those that were swallowed stay dead. */
  restore(): Promise<void>
  /** New connections go to another server. */
  retarget(url: string): void
  /** Ends the open connections. */
  cut(): void
  readonly accepted: number
  /** Bytes that arrived and went nowhere. */
  readonly swallowed: number
}

export async function startTcpRelay(target: string): Promise<TcpRelay> {
  let { hostname, port } = new URL(target)
  const pairs = new Set<{ readonly near: Socket; readonly far: Socket; isDead: boolean }>()
  let isSwallowing = false
  let accepted = 0
  let swallowed = 0
  const server = createServer({ allowHalfOpen: true }, (near) => {
    accepted++
    const far = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    const pair = { near, far, isDead: isSwallowing }
    pairs.add(pair)
    const pass = (from: Socket, to: Socket) => {
      from.on('data', (bytes) => {
        if (pair.isDead) swallowed += bytes.length
        else to.write(bytes)
      })
      from.on('end', () => void (pair.isDead || to.end()))
      from.on('error', () => void (pair.isDead || to.destroy()))
      // A pair that is dead keeps one side open when the other one closes: `endAll` has to find it.
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
