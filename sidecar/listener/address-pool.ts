/**
 * Addresses that our DNS gives out. Connections to them are redirected, so that nothing is ever sent there; should the
 * redirect be missing, they lead nowhere: 198.18.0.0/15 is kept for measurements between two machines (RFC 2544),
 * 100::/64 for packets to be thrown away (RFC 6666). Each name has its own pair, so that an address tells the name.
 */
export type AddressPool = {
  addressesOf(name: string): { readonly v4: string; readonly v6: string }
  /** The name that was last given this address. */
  nameOf(address: string): string | null
}

/** Beyond this the oldest name gives its addresses up: names under a wildcard are without end. */
const SIZE = 60_000

export function createAddressPool(size = SIZE): AddressPool {
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
      return { v4: `198.18.${number >> 8}.${number & 0xff}`, v6: `100::${number.toString(16)}` }
    },
    nameOf(address) {
      const number = numberOf(address)
      return number === null ? null : (names[number - 1] ?? null)
    },
  }
}

function numberOf(address: string): number | null {
  const [, high, low] = /^198\.18\.(\d{1,3})\.(\d{1,3})$/.exec(address) ?? []
  if (high !== undefined && low !== undefined) return Number(high) * 256 + Number(low)
  const [, group] = /^100::([0-9a-f]{1,4})$/.exec(address) ?? []
  return group === undefined ? null : Number.parseInt(group, 16)
}
