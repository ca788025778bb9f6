import type { Exchange } from './exchange.ts'
import type { NarrowedSecret } from './ports.ts'

/** Returns the narrowed token with which the exchange is sent; null when it is sent with the secret of the connector. */
export function sentTokenOf({ narrowed }: Exchange): NarrowedSecret | null {
  return narrowed?.kind === 'token' ? narrowed.token : null
}
