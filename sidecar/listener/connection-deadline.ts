import type { Socket } from 'node:net'
import type { Quotas, Slot } from './connection-quotas.ts'

/** Time in milliseconds that a half-closed connection may keep sending before it is destroyed. */
export const LINGER_MS = 5_000

/**
 * Deadline, quota slot and drain function of one accepted connection. A timer checks all deadlines, so `arm` costs one
 * assignment, and a deadline fires up to one timer interval late.
 */
export class ConnectionDeadline {
  readonly socket: Socket
  readonly slot: Slot
  /** Drains the connection: closes it immediately when idle, otherwise after the current reply. */
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

  /** Calls `expire` after `ms` milliseconds unless `arm` or `disarm` is called before. */
  arm(ms: number, expire: () => void): void {
    this.#deadline = this.#clock.nowMs + ms
    this.#expire = expire
  }

  /** Removes the deadline, so that another timer can apply. */
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
  /** Registers a new socket, and removes it when it closes. */
  add(socket: Socket): ConnectionDeadline
  readonly size: number
  /** Drains all connections, and destroys the remaining ones after `graceMs`. Resolves when no connection is open. */
  close(graceMs: number): Promise<void>
}

/**
 * Creates the registry of all connections and the timer that enforces their deadlines. `sweepMs` is the timer interval.
 */
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
