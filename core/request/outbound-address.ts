import { type AddressRefusal, type Cidr, parseAddress, refusedAddress } from './address.ts'

export type Address = { readonly address: string; readonly family: number }
/** All addresses of a name. A seam, so that a resolver that changes its mind can be tested. */
export type Resolve = (host: string) => Promise<readonly Address[]>

/**
 * Where a destination may lie. Metadata services and link-local addresses are refused for every one.
 *
 * - `public`: a value of an agent or a tenant, such as `webhook_url` or the address of a Connector. A list of ranges
 *   allows these besides (`NOTIFY_ALLOW_CIDRS`).
 * - `private`: private and loopback addresses too. A setting of the process or of the organisation, a registered
 *   gateway, a Connector with `allowPrivateAddresses`.
 */
export type Reach = 'public' | 'private' | readonly Cidr[]

/** The addresses to dial, all of them checked; or the first that is refused. */
export type Checked =
  | { readonly ok: true; readonly addresses: readonly Address[] }
  | { readonly ok: false; readonly address: string; readonly refusal: AddressRefusal }

/**
 * Resolves a host once and checks every address: one bad address spoils the name, because a rebinding name mixes them.
 * A host that is an IP address is not resolved. An empty list means that the name has no address; rejects as `resolve`
 * does. Whoever connects dials these addresses (`pinnedLookup`) and does not resolve the name again.
 */
export async function checkedAddresses(host: string, reach: Reach, resolve: Resolve): Promise<Checked> {
  const allowPrivate = typeof reach === 'string' ? reach === 'private' : reach
  const bytes = parseAddress(host)
  const literal = bytes === null ? null : { address: host, family: bytes.length === 4 ? 4 : 6 }
  const addresses = literal === null ? await resolve(host) : [literal]
  for (const { address } of addresses) {
    const refusal = refusedAddress(address, allowPrivate)
    if (refusal !== null) return { ok: false, address, refusal }
  }
  return { ok: true, addresses }
}

/** The host of a URL as it is resolved: without the brackets of an IPv6 address. */
export function hostOf({ hostname }: { readonly hostname: string }): string {
  return hostname.replace(/^\[|\]$/g, '')
}

/** A look-up for `net.connect` that answers with checked addresses, so that the name is never resolved again. */
export function pinnedLookup(addresses: readonly Address[]) {
  return (
    _host: string,
    options: { readonly all?: boolean | undefined },
    done: (error: null, address: string | Address[], family?: number) => void,
  ): void => {
    const [first] = addresses
    if (options.all === true) done(null, [...addresses])
    else done(null, first?.address ?? '', first?.family)
  }
}
