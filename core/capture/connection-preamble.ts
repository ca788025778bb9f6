import * as z from 'zod'

/**
 * First line of a Unix socket stream that carries one redirected connection to a gateway in another network namespace.
 * The bytes of the connection follow the line. For `dns` these bytes are queries, each with a two-byte length prefix,
 * as over TCP.
 */
export const ConnectionPreamble = z.object({
  /** Name of the agent that opened the connection. The gateway trusts the name only if `key` is valid. */
  agent: z.string().min(1).max(253),
  /** Key of the agent for its port on this machine, which is also the password in the agent's `proxy_url`. */
  key: z.string().min(1).max(256),
  kind: z.enum(['tls', 'http', 'other', 'dns']),
  /** Original destination of the client's connection; null if unknown. */
  destination: z.object({ address: z.string().max(64), port: z.int().min(1).max(65_535) }).nullable(),
})
export type ConnectionPreamble = z.infer<typeof ConnectionPreamble>

export const MAX_PREAMBLE_BYTES = 1_024

/** Serializes the preamble as one line of JSON, with the trailing newline. */
export function preambleLine(what: ConnectionPreamble): string {
  return `${JSON.stringify(what)}\n`
}
