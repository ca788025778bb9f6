import type { ExchangeSignal } from '../pipeline/exchange-abort.ts'

/** The reason of an abort as an error; anything else than an error means that the agent went away or was stopped. */
export function abortReason(signal: ExchangeSignal): Error {
  return signal.reason instanceof Error
    ? signal.reason
    : new DOMException('the exchange was ended', 'AbortError')
}
