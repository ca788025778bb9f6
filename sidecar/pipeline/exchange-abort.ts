import type { KillEntry } from '../../core/wire/gateway/kill.ts'

/** Members of the AbortSignal interface that an exchange uses. */
export type ExchangeSignal = {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

export type ExchangeAbort = {
  readonly signal: ExchangeSignal
  /** Aborts once; further calls have no effect. The default reason is an `AbortError`. */
  abort(reason?: unknown): void
}

/**
 * Creates a lightweight replacement for AbortController. Node's AbortController costs two event targets, a map and a
 * native handle for each request, and most requests are never aborted.
 */
export function createExchangeAbort(): ExchangeAbort {
  return new Abort()
}

class Abort implements ExchangeAbort, ExchangeSignal {
  aborted = false
  reason: unknown = undefined
  /** Abort listeners. Usually there is at most one, of the upstream request or of the hold. */
  #listeners: (() => void)[] | null = null

  get signal(): ExchangeSignal {
    return this
  }

  abort(reason: unknown = new DOMException('the exchange was ended', 'AbortError')): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const listeners = this.#listeners
    this.#listeners = null
    for (const listener of listeners ?? []) listener()
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.aborted) return
    if (this.#listeners === null) this.#listeners = [listener]
    else this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.#listeners?.indexOf(listener) ?? -1
    if (at !== -1) this.#listeners?.splice(at, 1)
  }
}

/**
 * Returns the reason of an abort as an error. Returns an `AbortError` for a reason that is not an error: a kill switch
 * aborts with a `KillAbort`.
 */
export function abortReason(signal: ExchangeSignal): Error {
  return signal.reason instanceof Error
    ? signal.reason
    : new DOMException('the exchange was ended', 'AbortError')
}

/** Returns the kill switch entry that aborted an exchange, or null. */
export function killedBy({ abort: { signal } }: { readonly abort: ExchangeAbort }): KillEntry | null {
  return signal.aborted && isKillAbort(signal.reason) ? signal.reason.entry : null
}

function isKillAbort(reason: unknown): reason is { readonly kind: 'kill'; readonly entry: KillEntry } {
  return typeof reason === 'object' && reason !== null && 'kind' in reason && reason.kind === 'kill'
}
