import type { Dialer } from '../dial.ts'
import type { UpstreamTarget } from '../target.ts'
import { type ConnectionOwner, UpstreamConnection } from './connection.ts'

export type Pool = {
  /** Returns the most recently used idle connection to the target; null when there is none and the caller must dial. */
  take(target: UpstreamTarget): UpstreamConnection | null
  /**
   * Dials a new connection, which is then in use. The pool needs no limit, because the concurrency of each agent is
   * limited.
   */
  dial(target: UpstreamTarget): Promise<UpstreamConnection>
  /** Destroys all connections. Requests in flight fail. */
  close(): void
}

type Idle = { readonly connection: UpstreamConnection; readonly until: number }

/**
 * Idle timeout in milliseconds when the server declares none. Many servers close a connection after 5 s. A shorter
 * timeout avoids sending a request on a connection that the server is closing.
 */
const KEEP_ALIVE_MS = 4_000
const KEEP_ALIVE_MAX_MS = 60_000
/** Margin in milliseconds before the end of the server's idle timeout. Within the margin a connection is not reused. */
const MARGIN_MS = 1_000
const SWEEP_MS = 1_000
const MAX_IDLE_PER_TARGET = 256

export function createPool(dialer: Dialer, monotonicMs: () => number): Pool {
  const idle = new Map<string, Idle[]>()
  const open = new Set<UpstreamConnection>()
  let timer: NodeJS.Timeout | undefined

  function ownerOf(key: string): ConnectionOwner {
    return {
      idle(connection, keepAliveSeconds) {
        const ms = patience(keepAliveSeconds)
        const stack = idle.get(key) ?? []
        if (ms <= 0 || stack.length >= MAX_IDLE_PER_TARGET) {
          connection.socket.destroy()
          return
        }
        if (stack.length === 0) idle.set(key, stack)
        stack.push({ connection, until: monotonicMs() + ms })
        timer ??= setInterval(sweep, SWEEP_MS).unref()
      },
      closed(connection) {
        open.delete(connection)
        evict(key, connection)
      },
    }
  }

  function evict(key: string, connection: UpstreamConnection): void {
    const stack = idle.get(key)
    const at = stack?.findIndex((entry) => entry.connection === connection) ?? -1
    if (stack === undefined || at === -1) return
    stack.splice(at, 1)
    if (stack.length === 0) idle.delete(key)
  }

  function sweep(): void {
    const now = monotonicMs()
    for (const stack of idle.values()) destroyExpired(stack, now)
    if (idle.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  function take(target: UpstreamTarget): UpstreamConnection | null {
    const stack = idle.get(target.key)
    if (stack === undefined) return null
    const now = monotonicMs()
    for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
      if (entry.until > now && entry.connection.isUsable) return entry.connection
      entry.connection.socket.destroy()
    }
    idle.delete(target.key)
    return null
  }

  async function dial(target: UpstreamTarget): Promise<UpstreamConnection> {
    const connection = new UpstreamConnection(await dialer.dial(target), ownerOf(target.key))
    open.add(connection)
    return connection
  }

  function close(): void {
    clearInterval(timer)
    for (const connection of open) connection.abort(new Error('the gateway is stopping'))
  }

  return { take, dial, close }
}

/** Destroys expired connections. The `close` event of a connection removes it from the stack. */
function destroyExpired(stack: readonly Idle[], now: number): void {
  for (const { connection, until } of stack) if (until <= now) connection.socket.destroy()
}

function patience(keepAliveSeconds: number | null): number {
  if (keepAliveSeconds === null) return KEEP_ALIVE_MS
  return Math.min(keepAliveSeconds * 1_000 - MARGIN_MS, KEEP_ALIVE_MAX_MS)
}
