/* The text form of an authority (`host`, `host:port`, `[v6]` or `[v6]:port`), without any check of the host. */

/**
 * Host and port of an authority as written. `host` keeps the brackets of an IPv6 address. `port` is null if the text
 * has no port.
 */
export type AuthorityText = { readonly host: string; readonly port: number | null }

const WITH_PORT = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/

/** Splits the text at its port. A bare IPv6 address is a host without a port. */
export function splitAuthority(text: string): AuthorityText {
  const [, host = text, port] = WITH_PORT.exec(text) ?? []
  return { host, port: port === undefined ? null : Number(port) }
}

/** Returns `host:port`, or the host alone if the port is `standardPort`. An IPv6 address gets its brackets. */
export function authorityText(host: string, port: number | string, standardPort?: number): string {
  return port === standardPort ? withBrackets(host) : `${withBrackets(host)}:${port}`
}

/** Returns the host as a URL has it: an IPv6 address in brackets. */
function withBrackets(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

/** Returns the host as resolvers and sockets expect it: an IPv6 address without brackets. */
export function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}
