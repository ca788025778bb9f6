import { type AddressRefusal, type Cidr, parseAddress, refusedAddress } from './address.ts'
import { withoutBrackets } from './authority-text.ts'

export type Address = { readonly address: string; readonly family: number }
/**
 * Resolves a name to all of its addresses. Callers pass this function as an argument, so that tests can change the
 * result between two calls.
 */
export type Resolve = (host: string) => Promise<readonly Address[]>

/**
 * Allowed networks of a destination. Metadata services and link-local addresses are always refused.
 *
 * - `public` allows only public addresses. It applies to the URL of a Connector.
 * - A list of ranges allows public addresses and these ranges: `NOTIFY_ALLOW_CIDRS` for webhooks of agents, and for
 *   webhooks and mail servers of the organization; `TOKEN_ENDPOINT_ALLOW_CIDRS` for token endpoints of Connectors.
 * - `private` allows public, private and loopback addresses. It applies to settings of the process, such as the
 *   identity provider, to `gateway_url` and registered gateways, and to Connectors with `allowPrivateAddresses`.
 */
export type Reach = 'public' | 'private' | readonly Cidr[]

/** Result of a check: all addresses of the host, or the first refused address. */
export type Checked =
  | { readonly ok: true; readonly addresses: readonly Address[] }
  | { readonly ok: false; readonly address: string; readonly refusal: AddressRefusal }

/**
 * Resolves a host once and checks every address. One refused address refuses the host, because an attacker can mix
 * public and private addresses in one answer (DNS rebinding). A host that is an IP address is not resolved. An empty
 * list means that the name has no address. Rejects if `resolve` rejects. Callers must dial these addresses
 * (`pinnedLookup`) and must not resolve the name again.
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

/** Returns the host of a URL as resolvers expect it: an IPv6 address without brackets. */
export function hostOf({ hostname }: { readonly hostname: string }): string {
  return withoutBrackets(hostname)
}

/**
 * Returns a lookup function for `net.connect` that returns the checked addresses, so that Node does not resolve the
 * name again.
 */
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
