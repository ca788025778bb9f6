import * as z from 'zod'

/**
 * How a redirected connection is handed to a gateway that lives in another network namespace: over a Unix socket, one
 * stream for each connection. The first line says what it is; the bytes of the connection follow. For `dns` they are
 * queries with two bytes of length before each, as over TCP.
 */
export const ConnectionPreamble = z.object({
  /** Everything on this connection is this agent's, if `key` is. */
  agent: z.string().min(1).max(253),
  /** The agent's key for its place on this machine, as in its `proxy_url`. */
  key: z.string().min(1).max(256),
  kind: z.enum(['tls', 'http', 'other', 'dns']),
  /** Where the client meant to go; null when that cannot be told. */
  destination: z.object({ address: z.string().max(64), port: z.int().min(1).max(65_535) }).nullable(),
})
export type ConnectionPreamble = z.infer<typeof ConnectionPreamble>

export const MAX_PREAMBLE_BYTES = 1_024

/** The first line, with its end. */
export function preambleLine(what: ConnectionPreamble): string {
  return `${JSON.stringify(what)}\n`
}
