import { FIRST_PROTOCOL } from './field-additions.ts'

/** Headers of every call of a gateway: the protocol (see `FIELD_ADDITIONS`) and the version that it runs. */
export const PROTOCOL_HEADER = 'x-gateway-protocol'
export const VERSION_HEADER = 'x-gateway-version'

/** Versions that a gateway process names in its calls. */
export type Greeting = {
  /** A gateway without the header speaks the first protocol. */
  readonly protocol: number
  /** Version of the product, such as `1.2.3`; null if the gateway names none. */
  readonly version: string | null
}

export const NO_GREETING: Greeting = { protocol: FIRST_PROTOCOL, version: null }

const VERSION_TEXT = /^\d{1,5}\.\d{1,5}\.\d{1,5}([-+][0-9A-Za-z.+-]{1,48})?$/
const PROTOCOL_TEXT = /^[1-9]\d{0,5}$/

/** Reads the headers of a call. Invalid values count as absent. */
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
