/** Range of addresses: the bytes of the network address (4 or 16) and the prefix length. */
export type Cidr = { readonly network: Uint8Array; readonly bits: number }

/** Addresses of `this network` (RFC 791). A connection to 0.0.0.0 reaches the machine itself. */
const UNSPECIFIED = ['0.0.0.0/8']

/**
 * Addresses that are never a destination, regardless of settings: link-local addresses, where clouds and platforms
 * serve credentials of the machine (instance metadata, task and pod identities); metadata services at other addresses;
 * addresses that do not identify a single host.
 */
const SPECIAL = [
  '169.254.0.0/16',
  // Metadata services outside of the link-local range: Alibaba, Azure (WireServer), Oracle.
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  '224.0.0.0/4',
  '255.255.255.255/32',
  '::/128',
  'fe80::/10',
  // Metadata, identity and resolver services of Amazon; metadata services of Google, Scaleway, Oracle and Linode.
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:42::42/128',
  'fd00:c1::a9fe:a9fe/128',
  'fd00:a9fe:a9fe::/48',
  'ff00::/8',
]

const NEVER = ranges([...UNSPECIFIED, ...SPECIAL])
const NEVER_EMBEDDED = ranges(SPECIAL)

const NONE = new Uint8Array(0)
const LAST: readonly number[] = [12, 13, 14, 15]
const [TEREDO = { network: NONE, bits: 0 }] = ranges(['2001::/32'])

/** Addresses to which the gateway connects only if a setting allows them. */
const PRIVATE = ranges([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '240.0.0.0/4',
  // IPv6 ranges: loopback and IPv4-compatible, IPv4-mapped, NAT64 (well-known and local), discard, Teredo, 6to4.
  '::/96',
  '::ffff:0:0/96',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/32',
  '2002::/16',
  // IPv6 ranges: unique local, deprecated site-local.
  'fc00::/7',
  'fec0::/10',
])

/**
 * IPv6 networks whose addresses contain an IPv4 address, with the possible offsets of its bytes. If `isExact` is true,
 * the offset is certain. Otherwise, bytes in 0.0.0.0/8 at an offset do not count as an IPv4 address.
 */
const CARRIERS: ReadonlyArray<{
  readonly range: Cidr
  readonly at: ReadonlyArray<readonly number[]>
  readonly isExact: boolean
}> = [
  // Networks with an exact offset: IPv4-mapped, IPv4-translated, NAT64, 6to4.
  ...carrier('::ffff:0:0/96', true, LAST),
  ...carrier('::ffff:0:0:0/96', true, LAST),
  ...carrier('64:ff9b::/96', true, LAST),
  ...carrier('2002::/16', true, [2, 3, 4, 5]),
  // Networks with several possible offsets: IPv4-compatible; NAT64 with a local prefix (RFC 6052); servers of Teredo.
  ...carrier('::/96', false, LAST),
  ...carrier('64:ff9b:1::/48', false, [6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], LAST),
  ...carrier('2001::/32', false, [4, 5, 6, 7]),
]

/** Reason why the gateway does not connect to an address. If `isFinal` is true, no setting can allow the address. */
export type AddressRefusal = { readonly why: string; readonly isFinal: boolean }

/**
 * Returns the reason why an address must not be dialled; null if dialling is allowed. Refuses any text that
 * `parseAddress` does not accept. IPv6 forms that contain an IPv4 address (mapped, NAT64, 6to4, Teredo, ISATAP) count
 * as private, because the network determines their destination. `allowPrivate` allows all private ranges, or the given
 * ranges. The ranges must contain the address itself and any private IPv4 address inside it.
 */
export function refusedAddress(
  address: string,
  allowPrivate: boolean | readonly Cidr[],
): AddressRefusal | null {
  const bytes = parseAddress(address.split('%')[0] ?? address)
  if (bytes === null) return { why: 'not an IP address', isFinal: true }
  if (isWithin(bytes, NEVER) || carriesRefused(bytes))
    return { why: 'a metadata, link-local, unspecified or multicast address', isFinal: true }
  const isAllowed = typeof allowPrivate === 'boolean' ? allowPrivate : isWithinAll(bytes, allowPrivate)
  if (isAllowed || !isPrivate(bytes)) return null
  return {
    why: 'a loopback or private address, or an IPv6 address that contains an IPv4 address',
    isFinal: false,
  }
}

function isPrivate(bytes: Uint8Array): boolean {
  return isWithin(bytes, PRIVATE) || isatap(bytes).length > 0
}

function isWithinAll(bytes: Uint8Array, allowed: readonly Cidr[]): boolean {
  const carried = carriedExactly(bytes).filter((address) => isWithin(address, PRIVATE))
  return isWithin(bytes, allowed) && carried.every((address) => isWithin(address, allowed))
}

/** Returns the IPv4 addresses that an IPv6 address contains at exact offsets (`isExact`). */
function carriedExactly(bytes: Uint8Array): readonly Uint8Array[] {
  if (bytes.length !== 16) return []
  const found = CARRIERS.filter(({ range, isExact }) => isExact && hasPrefix(bytes, range))
  return [...found.flatMap(({ at }) => at.map((places) => pick(bytes, places))), isatap(bytes)]
}

function carriesRefused(bytes: Uint8Array): boolean {
  if (bytes.length !== 16) return false
  const isRefused = CARRIERS.filter(({ range }) => hasPrefix(bytes, range)).some(({ at, isExact }) =>
    at.some((places) => isWithin(pick(bytes, places), isExact ? NEVER : NEVER_EMBEDDED)),
  )
  return isRefused || isWithin(teredoClient(bytes), NEVER_EMBEDDED) || isWithin(isatap(bytes), NEVER_EMBEDDED)
}

/**
 * Returns the client's IPv4 address in a Teredo address (2001::/32), which contains that address with every bit
 * inverted. Empty for any other address.
 */
function teredoClient(bytes: Uint8Array): Uint8Array {
  return hasPrefix(bytes, TEREDO) ? pick(bytes, LAST).map((byte) => byte ^ 0xff) : NONE
}

/**
 * Returns the IPv4 address in an ISATAP address, where it follows the interface identifier `0:5efe` or `200:5efe`, in
 * any network. Empty for any other address.
 */
function isatap(bytes: Uint8Array): Uint8Array {
  const isOne = (bytes[8] ?? 0) % 2 === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe
  return isOne ? pick(bytes, LAST) : NONE
}

function pick(bytes: Uint8Array, places: readonly number[]): Uint8Array {
  return Uint8Array.from(places, (place) => bytes[place] ?? 0)
}

/** Parses a CIDR such as `10.0.0.0/8` or `fd00::/8`; null if it is invalid. */
export function parseCidr(text: string): Cidr | null {
  const [address = '', bits = '', ...rest] = text.split('/')
  const network = parseAddress(address)
  if (network === null || rest.length > 0 || !/^\d{1,3}$/.test(bits)) return null
  return Number(bits) <= network.length * 8 ? { network, bits: Number(bits) } : null
}

/** Returns the 4 or 16 bytes of an IP address in text form; null if it is invalid. */
export function parseAddress(text: string): Uint8Array | null {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text)
}

function isWithin(bytes: Uint8Array, list: readonly Cidr[]): boolean {
  return list.some((range) => range.network.length === bytes.length && hasPrefix(bytes, range))
}

function hasPrefix(bytes: Uint8Array, { network, bits }: Cidr): boolean {
  const whole = bits >> 3
  for (let at = 0; at < whole; at++) if (bytes[at] !== network[at]) return false
  const rest = bits & 7
  if (rest === 0) return true
  const mask = 0xff00 >> rest
  return ((bytes[whole] ?? 0) & mask & 0xff) === ((network[whole] ?? 0) & mask & 0xff)
}

/**
 * Parses four decimal numbers without leading zeros. Returns null for other notations, because resolvers read these
 * differently.
 */
function parseIpv4(text: string): Uint8Array | null {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255))
    return null
  return Uint8Array.from(parts, Number)
}

function parseIpv6(text: string): Uint8Array | null {
  const halves = text.split('::')
  if (halves.length > 2) return null
  const [head, tail] = [groups(halves[0] ?? '', halves.length === 1), groups(halves[1] ?? '', true)]
  if (head === null || tail === null) return null
  const missing = 8 - head.length - tail.length
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null
  const all = [...head, ...Array.from({ length: missing }, () => 0), ...tail]
  return Uint8Array.from(all.flatMap((group) => [group >> 8, group & 0xff]))
}

/** Returns the 16-bit groups of one side of `::`. With `mayEnd`, the last group may be an IPv4 address. */
function groups(text: string, mayEnd: boolean): readonly number[] | null {
  if (text === '') return []
  const parts = text.split(':')
  const list: number[] = []
  for (const [index, part] of parts.entries()) {
    const embedded = mayEnd && index === parts.length - 1 && part.includes('.') ? parseIpv4(part) : null
    if (embedded !== null) {
      const [a = 0, b = 0, c = 0, d = 0] = embedded
      list.push((a << 8) | b, (c << 8) | d)
    } else if (/^[0-9a-f]{1,4}$/i.test(part)) list.push(Number.parseInt(part, 16))
    else return null
  }
  return list
}

function carrier(range: string, isExact: boolean, ...at: ReadonlyArray<readonly number[]>) {
  return ranges([range]).map((one) => ({ range: one, at, isExact }))
}

function ranges(texts: readonly string[]): readonly Cidr[] {
  return texts.map((text) => {
    const range = parseCidr(text)
    if (range === null) throw new Error(`${text} is not an address range`)
    return range
  })
}
