import type { Socket } from 'node:net'
import type { Quotas, Slot } from './connection-quotas.ts'

/** How long a connection that was answered and closed on our side may go on sending before it is cut. */
export const LINGER_MS = 5_000

/**
 * One accepted connection, whichever protocol speaks on it now: its deadline, and how to end it in good order.
 * Deadlines are looked at by a sweep, so setting one costs an assignment; they fire up to one sweep late.
 */
export class ConnectionDeadline {
  readonly socket: Socket
  /** Quota slot of the connection. */
  readonly slot: Slot
  /** Ends the connection in good order: at once when idle, else after the reply at hand. */
  drain: () => void
  readonly #clock: { readonly nowMs: number }
  #deadline = Number.POSITIVE_INFINITY
  #expire: () => void

  constructor(socket: Socket, clock: { readonly nowMs: number }, quotas: Quotas) {
    this.socket = socket
    this.#clock = clock
    this.#expire = () => socket.destroy()
    this.drain = () => socket.destroy()
    this.slot = quotas.open(this)
  }

  /** Calls `expire` when `ms` pass without another call of `arm` or `disarm`. */
  arm(ms: number, expire: () => void): void {
    this.#deadline = this.#clock.nowMs + ms
    this.#expire = expire
  }

  /** No deadline: somebody else's timers hold now. */
  disarm(): void {
    this.#deadline = Number.POSITIVE_INFINITY
  }

  check(nowMs: number): void {
    if (nowMs < this.#deadline) return
    this.disarm()
    this.#expire()
  }
}

export type ConnectionDeadlines = {
  /** Takes a fresh socket in; it leaves by itself when it closes. */
  add(socket: Socket): ConnectionDeadline
  readonly size: number
  /** Drains all, and cuts after `graceMs` what is still open. Resolves when none is left. */
  close(graceMs: number): Promise<void>
}

/** All connections of a front, and the one timer that enforces their deadlines. */
export function createConnectionDeadlines(sweepMs: number, quotas: Quotas): ConnectionDeadlines {
  const all = new Set<ConnectionDeadline>()
  const clock = { nowMs: performance.now() }
  let onEmpty: (() => void) | null = null
  const timer = setInterval(() => {
    clock.nowMs = performance.now()
    for (const deadline of all) deadline.check(clock.nowMs)
    quotas.sweep(clock.nowMs)
  }, sweepMs)
  timer.unref()

  return {
    get size() {
      return all.size
    },
    add(socket) {
      const deadline = new ConnectionDeadline(socket, clock, quotas)
      all.add(deadline)
      socket.once('close', () => {
        all.delete(deadline)
        if (all.size === 0) onEmpty?.()
      })
      return deadline
    },
    async close(graceMs) {
      for (const deadline of all) deadline.drain()
      const cut = setTimeout(() => {
        for (const deadline of all) deadline.socket.destroy()
      }, graceMs)
      if (all.size > 0) await new Promise<void>((resolve) => (onEmpty = resolve))
      clearTimeout(cut)
      clearInterval(timer)
    },
  }
}
