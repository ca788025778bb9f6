import { normaliseHost } from '../../../core/request/authority.ts'
import { readClientHello } from '../../tls/client-hello.ts'

/**
 * Requirement for the first bytes of a tunnel. `required`: a TLS ClientHello that names the host (no name for an IP
 * address). `matching`: any protocol, but a ClientHello must name the host or no host. `any`: no check.
 */
export type HelloRule = 'required' | 'matching' | 'any'

export type GateVerdict =
  | { readonly kind: 'more' | 'pass' }
  | { readonly kind: 'refuse'; readonly problem: string }

const MORE: GateVerdict = { kind: 'more' }
const PASS: GateVerdict = { kind: 'pass' }
const TLS_HANDSHAKE = 22

/**
 * Checks the first bytes that a client sends into a tunnel to `host`. A CDN serves many customers at one address, where
 * the server name in the ClientHello selects the customer, not the target of CONNECT.
 */
export function judgeHello(bytes: Buffer, host: string, rule: HelloRule): GateVerdict {
  if (rule === 'any' || (rule === 'matching' && bytes[0] !== TLS_HANDSHAKE)) return PASS
  const hello = readClientHello(bytes)
  if (hello.kind === 'incomplete' && bytes[0] === TLS_HANDSHAKE) return MORE
  if (hello.kind !== 'hello') return refused(`no TLS ClientHello with the server name ${host}`)
  return judgeName(hello.serverName, host, rule)
}

function judgeName(name: string | null, host: string, rule: HelloRule): GateVerdict {
  if (name === null)
    return mayBeNameless(host, rule) ? PASS : refused(`no server name; the server name must be ${host}`)
  const isSame = normaliseHost(name) === host && !isAddress(host)
  return isSame ? PASS : refused(`the server name ${JSON.stringify(name.slice(0, 100))}, not ${host}`)
}

/**
 * Returns true when a ClientHello without a server name is valid for the host: an IP address is not a server name (RFC
 * 6066, section 3).
 */
function mayBeNameless(host: string, rule: HelloRule): boolean {
  return rule === 'matching' || isAddress(host)
}

function isAddress(host: string): boolean {
  return host.includes(':') || /^[0-9]+(?:\.[0-9]+){3}$/.test(host)
}

function refused(found: string): GateVerdict {
  return { kind: 'refuse', problem: `tunnel refused: the client sent ${found}` }
}
