import { FIRST_PROTOCOL } from './sections/field-additions.ts'

/** Headers of every request from a gateway: its protocol (see `FIELD_ADDITIONS`) and its version. */
export const PROTOCOL_HEADER = 'x-gateway-protocol'
export const VERSION_HEADER = 'x-gateway-version'

/** Protocol and version that a gateway process sends in its requests. */
export type Greeting = {
  /** Protocol of the gateway. A request without the header has the first protocol. */
  readonly protocol: number
  /** Version of the product, such as `1.2.3`; null if the gateway does not send one. */
  readonly version: string | null
}

export const NO_GREETING: Greeting = { protocol: FIRST_PROTOCOL, version: null }

const VERSION_TEXT = /^\d{1,5}\.\d{1,5}\.\d{1,5}([-+][0-9A-Za-z.+-]{1,48})?$/
const PROTOCOL_TEXT = /^[1-9]\d{0,5}$/

/** Parses the headers of a request from a gateway. Invalid values count as absent. */
export function greetingOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Greeting {
  const { [PROTOCOL_HEADER]: protocol, [VERSION_HEADER]: version } = headers
  return {
    protocol:
      typeof protocol === 'string' && PROTOCOL_TEXT.test(protocol) ? Number(protocol) : FIRST_PROTOCOL,
    version: typeof version === 'string' && VERSION_TEXT.test(version) ? version : null,
  }
}
