import { parseAddress } from '../request/address.ts'

/** Destination of a connection: an address in its usual text form, and a port. */
export type Destination = { readonly address: string; readonly port: number }

/** Client end of an accepted connection, as seen by the server. */
export type Client = {
  readonly address: string
  readonly port: number
  /** Local port on which the server accepted the connection. */
  readonly acceptedOn: number
}

/** The kernel's TCP socket tables for IPv4 and IPv6. */
export const SOCKET_TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'] as const

/**
 * Returns the destinations that clients passed to connect(), from the tables' texts, in one pass for all clients. The
 * tables show each socket from its owner's view, with the destination before a redirect. The result is null for a
 * client whose socket the tables do not contain, and for a client that several sockets match. A closed connection of
 * the same port (TIME_WAIT) is ignored if the client has an open socket: the kernel reuses a port for another
 * destination while the closed connection is still in the table.
 */
export function destinationsIn(
  tables: readonly string[],
  clients: readonly Client[],
): ReadonlyArray<Destination | null> {
  const wanted = new Map<string, Entry[]>(clients.map(({ port }) => [portText(port), []]))
  for (const text of tables) collect(text, wanted)
  return clients.map((client) => {
    const from = plain(client.address)
    const found = (wanted.get(portText(client.port)) ?? []).filter(
      ({ local, remote }) => local === from && remote.port !== 0 && !isUs(remote, client.acceptedOn),
    )
    const open = found.filter(({ state }) => state !== TIME_WAIT)
    const candidates = open.length === 0 ? found : open
    const [only] = candidates
    return only !== undefined && candidates.length === 1 ? only.remote : null
  })
}

/**
 * States of a connection that is not fully closed: established, closing, or `03` (SYN_RECV). A connection stays in `03`
 * while the listen queue is full, although its client considers it established.
 */
const OPEN_STATES: ReadonlySet<string> = new Set(['01', '03', '04', '05', '08', '09'])

/**
 * Reports whether a loopback listener of this machine on the port `acceptedOn` has a connection from the port `from`.
 */
export function hasArrived(
  tables: readonly string[],
  { from, acceptedOn }: { readonly from: number; readonly acceptedOn: number },
): boolean {
  const [own, other] = [portText(acceptedOn), portText(from)]
  return tables.some((text) =>
    [...text.matchAll(SOCKET)].some(
      ([, local = '', port, , remotePort, state = '']) =>
        port === own && remotePort === other && OPEN_STATES.has(state) && isLoopback(addressOf(local)),
    ),
  )
}

/** Connection from this machine to another one, and the inode of its socket. */
export type OutgoingConnection = Destination & { readonly inode: string }

/**
 * Matches a line of the socket table up to the inode. Between the addresses and the inode the line has state, queues,
 * timers, retransmissions, uid and time-out.
 */
const WITH_INODE =
  /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+):([0-9A-F]{4}) (0A|01|02) \S+ \S+ \S+ +\d+ +\d+ (\d+) /gm
const LISTENING = '0A'

/**
 * Returns the established or connecting sockets to addresses other than loopback. Sockets on a local port with a
 * listener are excluded, because clients outside opened these connections.
 */
export function outgoingConnections(tables: readonly string[]): readonly OutgoingConnection[] {
  const rows = tables.flatMap((text) => [...text.matchAll(WITH_INODE)])
  const listeners = new Set(rows.filter(([, , , , state]) => state === LISTENING).map(([, port]) => port))
  return rows
    .filter(([, port, , , state]) => state !== LISTENING && !listeners.has(port))
    .map(([, , address = '', port = '', , inode = '']) => ({
      address: addressOf(address),
      port: Number.parseInt(port, 16),
      inode,
    }))
    .filter(({ address }) => !isLoopback(address))
}

/** The kernel's tables of all sockets with an address. */
export const ALL_SOCKET_TABLES = [
  ...SOCKET_TABLES,
  ...['/proc/self/net/udp', '/proc/self/net/udp6', '/proc/self/net/udplite', '/proc/self/net/udplite6'],
  ...['/proc/self/net/raw', '/proc/self/net/raw6', '/proc/self/net/icmp', '/proc/self/net/icmp6'],
] as const

/** Matches a line of any socket table up to the inode, and captures uid and inode. */
const WITH_OWNER = /^ *\d+: \S+ \S+ \S+ \S+ \S+ \S+ +(\d+) +\d+ (\d+) /gm

/** Returns the inodes of the sockets of a user. A socket without an open descriptor has the inode 0 and is left out. */
export function inodesOf(tables: readonly string[], uid: number): ReadonlySet<string> {
  const rows = tables.flatMap((text) => [...text.matchAll(WITH_OWNER)])
  return new Set(
    rows.flatMap(([, owner, inode = '0']) => (Number(owner) === uid && inode !== '0' ? [inode] : [])),
  )
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}

type Entry = { readonly local: string; readonly remote: Destination; readonly state: string }

const TIME_WAIT = '06'

/**
 * Matches a line `sl: local_address:port rem_address:port st …` of the socket table. Addresses are hexadecimal words
 * in the machine's byte order, ports are hexadecimal numbers.
 */
const SOCKET = /^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]{2}) /gm

/**
 * Collects the sockets of the requested ports. Lines of other ports create no object, because a pod under load has
 * tens of thousands of sockets.
 */
function collect(text: string, wanted: ReadonlyMap<string, Entry[]>): void {
  for (const [, own = '', ownPort = '', address = '', port = '', state = ''] of text.matchAll(SOCKET)) {
    wanted.get(ownPort)?.push({
      local: addressOf(own),
      remote: { address: addressOf(address), port: Number.parseInt(port, 16) },
      state,
    })
  }
}

function portText(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0')
}

/**
 * Reports whether the remote end of a socket is the listener itself, so that the client connected without a redirect.
 */
function isUs({ address, port }: Destination, acceptedOn: number): boolean {
  return port === acceptedOn && isLoopback(address)
}

function addressOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? []
  return textOf(
    words.flatMap((word) => (word.match(/../g) ?? []).map((b) => Number.parseInt(b, 16)).reverse()),
  )
}

/**
 * Normalizes an address: an IPv4-mapped IPv6 address becomes an IPv4 address, and an IPv6 address gets its short form.
 */
function plain(address: string): string {
  const bytes = parseAddress(address)
  return bytes === null ? address : textOf([...bytes])
}

function textOf(bytes: readonly number[]): string {
  if (bytes.length === 4) return bytes.join('.')
  const isMapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255
  if (isMapped) return bytes.slice(12).join('.')
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[i * 2] ?? 0) << 8) | (bytes[i * 2 + 1] ?? 0))
  return compressed(groups)
}

/**
 * Returns the IPv6 address in its short form (RFC 5952): the first of the longest runs of at least two zero groups
 * becomes `::`.
 */
function compressed(groups: readonly number[]): string {
  const hex = groups.map((group) => group.toString(16))
  let best = { start: 0, length: 1 }
  for (let start = 0; start < hex.length; start++) {
    const end = hex.findIndex((group, index) => index >= start && group !== '0')
    const length = (end === -1 ? hex.length : end) - start
    if (length > best.length) best = { start, length }
  }
  if (best.length === 1) return hex.join(':')
  return `${hex.slice(0, best.start).join(':')}::${hex.slice(best.start + best.length).join(':')}`
}
