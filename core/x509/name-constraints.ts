import { parseAddress } from '../request/address.ts'
import * as der from './der.ts'
import { childrenOf, type Element, elementAt } from './der-reader.ts'

/**
 * Names that an intermediate certificate permits by X.509 Name Constraints (RFC 5280, 4.2.1.10), as dNSName and
 * iPAddress subtrees. A host name in lower case permits itself and every name below it, an IP address only itself. The
 * list is sorted, and omits names that another name of the list already permits.
 */
export type PermittedNames = readonly string[]

/**
 * Maximum size of the subtrees in bytes. Java rejects handshake messages of more than 32 KiB, and the certificates of
 * the chain need up to 2 KiB in addition.
 */
const MAX_SUBTREES_BYTES = 24 * 1024
/**
 * Matches host names that Java accepts in a constraint. Java rejects the whole certificate for any other label, such
 * as one with an underscore.
 */
const HOST_NAME =
  /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/
/**
 * Names that every certificate permits although they identify no host. A form of names (DNS name, IP address) for which
 * a certificate permits no name would be unconstrained, so each form has one of these: a reserved DNS name (RFC 2606),
 * the limited broadcast address, and an address of the discard prefix (RFC 6666). There are two addresses, because
 * GnuTLS treats IPv4 and IPv6 as two forms.
 */
const NO_HOST = 'none.invalid'
const NO_ADDRESS = '255.255.255.255'
const NO_ADDRESS_6 = '100:0:0:0:0:0:0:0'
const NO_NAMES: ReadonlySet<string> = new Set([NO_HOST, NO_ADDRESS, NO_ADDRESS_6])
const TAG = { dnsName: 0x82, ipAddress: 0x87, permittedSubtrees: 0xa0, extensions: 0xa3 } as const
/** DER of the object identifier (OID) of Name Constraints, 2.5.29.30. */
const OID = der.oid('2.5.29.30')

/**
 * Returns the names that a certificate for these hosts permits, in addition to those that every certificate permits
 * (`NO_NAMES`). Hosts are host names in lower case or IP addresses. Excludes hosts that clients do not accept in a
 * constraint, hosts that another name of the result permits, and hosts beyond the size limit.
 */
export function permittedNames(hosts: Iterable<string>): PermittedNames {
  const usable = new Set<string>()
  for (const host of hosts) {
    const address = parseAddress(host)
    const name = address === null ? host : addressText(address)
    if (!NO_NAMES.has(name) && (address !== null || isConstraint(host))) usable.add(name)
  }
  const smallest = [...usable].filter((name) => !isBelowAnother(name, usable)).sort()
  let bytes = 0
  return smallest.filter((name) => {
    bytes += subtree(name).length
    return bytes <= MAX_SUBTREES_BYTES
  })
}

/** Reports whether clients accept a certificate for the host if an intermediate with these names issued it. */
export function isPermitted(names: PermittedNames, host: string): boolean {
  const address = parseAddress(host)
  if (address !== null) return names.includes(addressText(address))
  const wanted = host.toLowerCase()
  return names.some((name) => wanted === name || (wanted.endsWith(`.${name}`) && parseAddress(name) === null))
}

/** Returns the DER value of the Name Constraints extension. */
export function nameConstraints(names: PermittedNames): Uint8Array {
  const subtrees = [...names, ...NO_NAMES].map(subtree)
  return der.sequence(der.element(TAG.permittedSubtrees, ...subtrees))
}

/** Returns the permitted names of a certificate (DER); null if it has no Name Constraints. */
export function namesPermittedBy(certificate: Uint8Array): PermittedNames | null {
  const value = constraintsOf(certificate)
  if (value === null) return null
  const permitted = childrenOf(certificate, value).find(({ tag }) => tag === TAG.permittedSubtrees)
  if (permitted === undefined) return []
  return childrenOf(certificate, permitted).flatMap((one) => nameOf(certificate, one) ?? [])
}

/**
 * Reports whether a constraint can contain the host. Many parsers treat a host with an all-numeric last label as an
 * IPv4 address.
 */
function isConstraint(host: string): boolean {
  return HOST_NAME.test(host) && !/(?:^|\.)[0-9]+$/.test(host)
}

function isBelowAnother(name: string, names: ReadonlySet<string>): boolean {
  if (parseAddress(name) !== null) return false
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1))
    if (names.has(name.slice(dot + 1))) return true
  return false
}

function subtree(name: string): Uint8Array {
  const address = parseAddress(name)
  if (address === null) return der.sequence(der.implicit(2, der.ascii(name)))
  const wholeMask = new Uint8Array(address.length).fill(0xff)
  return der.sequence(der.element(TAG.ipAddress, address, wholeMask))
}

/** Returns the Name Constraints of a certificate. Their path is TBSCertificate > [3] extensions > extension > value. */
function constraintsOf(bytes: Uint8Array): Element | null {
  const whole = elementAt(bytes, 0)
  const [body] = whole === null ? [] : childrenOf(bytes, whole)
  const wrapper = body && childrenOf(bytes, body).find(({ tag }) => tag === TAG.extensions)
  const [list] = wrapper === undefined ? [] : childrenOf(bytes, wrapper)
  for (const extension of list === undefined ? [] : childrenOf(bytes, list)) {
    const isFound = OID.every((byte, index) => bytes[extension.start + index] === byte)
    const value = isFound ? childrenOf(bytes, extension).at(-1) : undefined
    if (value !== undefined) return elementAt(bytes, value.start)
  }
  return null
}

function nameOf(bytes: Uint8Array, subtreeAt: Element): string | null {
  const [base] = childrenOf(bytes, subtreeAt)
  if (base === undefined) return null
  const content = bytes.subarray(base.start, base.end)
  if (base.tag === TAG.dnsName) return withoutNone(String.fromCharCode(...content))
  return base.tag === TAG.ipAddress ? withoutNone(addressText(content.subarray(0, content.length / 2))) : null
}

function withoutNone(name: string): string | null {
  return NO_NAMES.has(name) ? null : name
}

/** Formats an address in canonical form: an IPv6 address has eight groups, without abbreviation. */
function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  const groups = Array.from({ length: 8 }, (_, at) => ((bytes[at * 2] ?? 0) << 8) | (bytes[at * 2 + 1] ?? 0))
  return groups.map((group) => group.toString(16)).join(':')
}
