/**
 * Addresses that the gateway's DNS returns. Connections to these addresses are redirected to the gateway. Without the
 * redirect the addresses are unreachable: 198.18.0.0/15 is reserved for benchmarks (RFC 2544), 100::/64 for discard
 * (RFC 6666). Each name has its own IPv4 and IPv6 address, so that an address identifies the name.
 */
export type AddressPool = Pick<AddressRange, 'nameOf'> & {
  readonly owned: AddressRange
  /**
   * Addresses of names that no connector owns, in a range of their own: agents choose these names, and must not evict
   * the addresses of owned names.
   */
  readonly unowned: AddressRange
}

export type AddressRange = {
  addressesOf(name: string): { readonly v4: string; readonly v6: string }
  /** Returns the name to which the address was last assigned; null for an address that is not assigned. */
  nameOf(address: string): string | null
}

/**
 * Maximum number of names in a range. At the limit a new name takes the addresses of the oldest one. There is a limit,
 * because a wildcard allows any number of names.
 */
const SIZE = 60_000

export function createAddressPool(size = SIZE): AddressPool {
  const owned = createRange({ v4: '198.18', v6: '100::' }, size)
  const unowned = createRange({ v4: '198.19', v6: '100::1:' }, size)
  return { owned, unowned, nameOf: (address) => owned.nameOf(address) ?? unowned.nameOf(address) }
}

/** Fixed part of the addresses of a range: `v4` is the first two octets, `v6` all groups except the last. */
type Prefix = { readonly v4: string; readonly v6: string }

function createRange(prefix: Prefix, size: number): AddressRange {
  const indexes = new Map<string, number>()
  const names: string[] = []
  let next = 0

  function take(name: string): number {
    const index = next
    const former = names[index]
    if (former !== undefined) indexes.delete(former)
    names[index] = name
    indexes.set(name, index)
    next = (next + 1) % size
    return index
  }

  return {
    addressesOf(name) {
      const number = (indexes.get(name) ?? take(name)) + 1
      return { v4: `${prefix.v4}.${number >> 8}.${number & 0xff}`, v6: prefix.v6 + number.toString(16) }
    },
    nameOf(address) {
      const number = numberOf(address, prefix)
      return number === null ? null : (names[number - 1] ?? null)
    },
  }
}

function numberOf(address: string, { v4, v6 }: Prefix): number | null {
  const isV4 = address.startsWith(`${v4}.`)
  const [, high, low] = (isV4 && /^(\d{1,3})\.(\d{1,3})$/.exec(address.slice(v4.length + 1))) || []
  if (high !== undefined && low !== undefined) return Number(high) * 256 + Number(low)
  const [group] = (address.startsWith(v6) && /^[0-9a-f]{1,4}$/.exec(address.slice(v6.length))) || []
  return group === undefined ? null : Number.parseInt(group, 16)
}
