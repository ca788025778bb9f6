import { exposesCredential } from '../../../core/connectors/credentials/clear-text.ts'
import { connectorOfType } from '../../../core/connectors/registry.ts'
import { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import { newId } from '../../crypto/ids.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Query } from '../../db/query.ts'
import { validationError } from '../../http/input.ts'
import { type IdentifyBot, refuseApprovalsBot } from '../chat/bot.ts'
import { namespaceOf } from '../gateways/binding.ts'
import { type GatewayRow, getGateway } from '../gateways/rows.ts'
import { refuseManaged } from '../manifests/managed.ts'
import { EditedInYaml } from '../policies/edited-in-yaml.ts'
import { authOf, findOverlaps, missingDomains, ownedDomains, sharedPorts, wrongAuth } from './domains.ts'
import { covers } from './host-claims.ts'
import { type ConnectorRow, listConnectors } from './rows.ts'
import { upsertConnector } from './store.ts'

/** A connector as a user enters it. `token`: the credential in plain text. */
export type NewConnector = {
  readonly type: ConnectorSpec['type']
  readonly token: string
  readonly domains?: readonly string[] | undefined
  readonly auth_type?: 'bearer' | 'token' | 'basic' | 'header' | 'none' | undefined
  readonly header?: string | undefined
  /** Base URL of a self-hosted instance. If `domains` are also given, requests to all of them go to this URL. */
  readonly base_url?: string | undefined
  /**
   * True to permit requests to private addresses. Default: the stored value of an existing connector, otherwise false.
   */
  readonly allow_private_addresses?: boolean | undefined
  readonly allow_plaintext_credential?: boolean | undefined
  readonly endpoint?: readonly string[] | undefined
  readonly bodies?: 'opaque' | undefined
}

export type Placement = {
  readonly keyring: Keyring
  readonly orgId: string
  readonly gatewayId: string
  readonly input: NewConnector
  readonly origin: RowOrigin
  /** Path of the input in the request body, for error messages; empty when the input is the body itself. */
  readonly path?: string | undefined
  /**
   * True if a new connector should report refusals in the error format of its provider, because the SDKs of the
   * provider parse this format.
   */
  readonly prefersProviderShape?: boolean | undefined
  readonly identifyBot?: IdentifyBot | undefined
}

export type Placed = {
  readonly row: ConnectorRow
  readonly isNew: boolean
  readonly domains: readonly string[]
}

/**
 * Adds a connector to a gateway. If the gateway has a connector with the same type and hosts, replaces the token of
 * this connector. Throws `validation`, and `conflict` when another connector of the gateway governs one of the hosts.
 */
export async function placeConnector(q: Query, placement: Placement): Promise<Placed> {
  const { gatewayId, input, keyring, orgId } = placement
  const wanted = connectorSpec(input, placement.path ?? '')
  await refuseApprovalsBot(q, placement, input)
  const others = await listConnectors(q)
  const domains = ownedDomains({ name: input.type, spec: wanted })
  const same = others.find((row) => isSame(row, { gatewayId, type: wanted.type, domains }))
  // An absent `endpoint` keeps the stored endpoint: a new token for the same connector must not permit other paths of
  // its hosts.
  const endpoint = wanted.endpoint ?? same?.spec.endpoint
  const upstream = { ...wanted.upstream, ...permissionsOf(input, same?.spec.upstream) }
  refusePlaintext({ ...wanted, upstream }, placement.path ?? '')
  const errorShape = same?.spec.errorShape ?? newShape(placement)
  const spec = { ...wanted, upstream, errorShape, ...(endpoint === undefined ? {} : { endpoint }) }
  const id = same?.id ?? newId('connector')
  const name = same?.name ?? freeName(input.type, others)
  refuseOverlaps(q, { id, name, spec, gatewayIds: [gatewayId] }, others)
  refuseSharedHosts(q, { name, spec }, await getGateway(q, gatewayId), others)
  const row = await upsertConnector(q, {
    id,
    orgId,
    name,
    type: spec.type,
    gatewayIds: same?.gatewayIds ?? [gatewayId],
    spec,
    credential: keyring.seal(input.token, id),
    source: 'api',
    managedBy: null,
    origin: placement.origin,
  })
  return { row, isNew: same === undefined, domains }
}

function newShape({ prefersProviderShape, input }: Placement): ConnectorSpec['errorShape'] {
  const isNeeded = connectorOfType(input.type).providerError?.isNeededBySdks === true
  return prefersProviderShape === true && isNeeded ? 'provider' : 'service'
}

/**
 * Returns whether private addresses are permitted, and credentials on connections without TLS. An absent value in the
 * input keeps the stored value.
 */
function permissionsOf(
  input: NewConnector,
  stored: ConnectorSpec['upstream'] | undefined,
): Pick<ConnectorSpec['upstream'], 'allowPrivateAddresses' | 'allowPlaintextCredential'> {
  return {
    allowPrivateAddresses: input.allow_private_addresses ?? stored?.allowPrivateAddresses ?? false,
    allowPlaintextCredential: input.allow_plaintext_credential ?? stored?.allowPlaintextCredential ?? false,
  }
}

function refusePlaintext(spec: ConnectorSpec, path: string): void {
  if (exposesCredential({ upstream: spec.upstream, auth: authOf(spec) }))
    throw validationError([`${fieldAt(path, 'base_url')}: ${PLAINTEXT_BASE_URL}`])
}

const PLAINTEXT_BASE_URL =
  'is plain http, so the credential would cross the network in clear text; use https, or set allow_plaintext_credential: true'

function connectorSpec(input: NewConnector, path: string): ConnectorSpec {
  const authType = input.auth_type ?? (input.header === undefined ? undefined : 'header')
  const header = input.header === undefined ? {} : { header: input.header }
  const result = ConnectorSpec.safeParse({
    type: input.type,
    domains: input.domains,
    baseUrl: input.base_url,
    endpoint: input.endpoint,
    upstream: upstreamOf(input),
    bodies: input.bodies,
    auth: authType === undefined ? undefined : { type: authType, ...header },
  })
  const at = (field: string) => fieldAt(path, field)
  if (!result.success) {
    throw validationError(result.error.issues.map((issue) => `${at(fieldOf(issue.path))}: ${issue.message}`))
  }
  const domainProblem = missingDomains(result.data)
  if (domainProblem !== null) throw validationError([`${at('domains')}: ${domainProblem}`])
  if (input.endpoint !== undefined && input.type !== 'mcp')
    throw validationError([`${at('endpoint')}: is for type mcp only; remove it`])
  const authProblem = wrongAuth(result.data.auth)
  if (authProblem !== null) throw validationError([`${at('header')}: ${authProblem}`])
  return result.data
}

/**
 * Returns the URL of the upstream. The URL is set when the connector has a base URL and other domains, which are
 * further names of the same instance; otherwise the result is empty.
 */
function upstreamOf({ domains = [], base_url }: NewConnector): { url?: string } {
  const base = base_url === undefined ? null : URL.parse(base_url)
  const hasOthers = domains.some((domain) => domain.toLowerCase() !== base?.hostname)
  return base !== null && hasOthers ? { url: base.origin } : {}
}

function fieldAt(path: string, field: string): string {
  return path === '' ? field : `${path}.${field}`
}

/** Returns the name of the request field for a path in the spec of the connector. */
function fieldOf(path: readonly PropertyKey[]): string {
  if (path[0] === 'baseUrl' || path[0] === 'upstream') return 'base_url'
  if (path[0] === 'auth') return path[1] === 'header' ? 'header' : 'auth_type'
  return path.map(String).join('.')
}

function isSame(
  row: ConnectorRow,
  wanted: { readonly gatewayId: string; readonly type: string; readonly domains: readonly string[] },
): boolean {
  if (row.source !== 'api' || row.type !== wanted.type || !row.gatewayIds.includes(wanted.gatewayId))
    return false
  return [...ownedDomains(row)].sort().join() === [...wanted.domains].sort().join()
}

function refuseOverlaps(
  q: Query,
  candidate: Pick<ConnectorRow, 'id' | 'name' | 'spec' | 'gatewayIds'>,
  others: readonly ConnectorRow[],
): void {
  const overlap = findOverlaps(candidate, others).find(({ connector }) => !waitsForCredential(connector))
  if (overlap === undefined) return
  refuseManaged(q, overlap.connector)
  throw hostTaken(q, overlap.domain, `the connector ${overlap.connector.name}`)
}

/**
 * Returns the error for a host that another connector governs. If objects can be changed only in their YAML manifests,
 * the error refers to the manifest.
 */
function hostTaken(q: Query, host: string, owner: string): ChaperoneError {
  const taken = `${host} already belongs to ${owner}`
  if (q.refusesEdits)
    return new EditedInYaml({
      remedy: `${taken}. Change the manifest of that connector, or name other domains.`,
    })
  return new ChaperoneError('conflict', {
    detail: `${taken}. Remove that connector first, or name other domains.`,
  })
}

/**
 * Throws when a wildcard of the candidate covers a host of a connector from another namespace at this gateway, because
 * the other connector would keep this host.
 */
function refuseSharedHosts(
  q: Query,
  candidate: Pick<ConnectorRow, 'name' | 'spec'>,
  gateway: GatewayRow | undefined,
  others: readonly ConnectorRow[],
): void {
  if (gateway === undefined) return
  const domains = ownedDomains(candidate)
  const guests = others.filter(
    (row) =>
      isOfOtherNamespace(row, gateway) &&
      row.gatewayIds.includes(gateway.id) &&
      sharedPorts(candidate.spec, row.spec).length > 0,
  )
  for (const guest of guests) {
    const lost = guest.lostDomains[gateway.id] ?? []
    const has = ownedDomains(guest).filter((own) => !lost.includes(own))
    const host = has.find((own) => domains.some((domain) => covers(domain, own)))
    if (host === undefined) continue
    throw hostTaken(q, host, `the connector ${guest.name} of another namespace`)
  }
}

function isOfOtherNamespace(
  row: Pick<ConnectorRow, 'name' | 'source'>,
  gateway: Pick<GatewayRow, 'name'>,
): boolean {
  return row.source === 'kubernetes' && namespaceOf(row) !== namespaceOf(gateway)
}

/**
 * Reports whether the row is a connector of a manifest that has no credential yet. The row then does not block a
 * connector that has a credential.
 */
function waitsForCredential(row: ConnectorRow): boolean {
  return row.source !== 'api' && row.credential === null && authOf(row.spec).type !== 'none'
}

function freeName(type: string, rows: readonly ConnectorRow[]): string {
  const names = new Set(rows.map((row) => row.name))
  let name = type
  for (let suffix = 2; names.has(name); suffix++) name = `${type}-${suffix}`
  return name
}
