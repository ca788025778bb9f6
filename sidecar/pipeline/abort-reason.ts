import type { ExchangeSignal } from './exchange-abort.ts'

/**
 * Returns the reason of an abort as an error. A reason of another type means that the client disconnected or the kill
 * switch cut the exchange.
 */
export function abortReason(signal: ExchangeSignal): Error {
  return signal.reason instanceof Error
    ? signal.reason
    : new DOMException('the exchange was ended', 'AbortError')
}
