import { connectorOfType } from '../../../core/connectors/registry.ts'
import type { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import { newId } from '../../crypto/ids.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Query } from '../../db/query.ts'
import { validationError } from '../../http/input.ts'
import { type IdentifyBot, refuseApprovalsBot } from '../chat/bot/bot.ts'
import { hasMinted } from '../credentials/rows.ts'
import { namespaceOf } from '../gateways/binding.ts'
import { type GatewayRow, getGateway } from '../gateways/rows.ts'
import { preventedEdit, refuseManaged } from '../manifests/managed.ts'
import { authOf, covers, findOverlaps, ownedDomains, sharedPorts } from './domains.ts'
import { connectorSpec, fieldAt, type NewConnector, refusePlaintext } from './new-connector.ts'
import { type ConnectorRow, listConnectors, listWithStoredCredential } from './rows.ts'
import {
  type ConnectorInput,
  deleteConnector,
  deleteUnminted,
  setCredential,
  upsertConnector,
} from './store.ts'

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
  // Without `endpoint` in the input, the stored endpoint remains: a new token for the same connector must not permit
  // other paths of its hosts.
  const endpoint = wanted.endpoint ?? same?.spec.endpoint
  const upstream = { ...wanted.upstream, ...permissionsOf(input, same?.spec.upstream) }
  refusePlaintext({ ...wanted, upstream }, placement.path ?? '')
  const errorShape = same?.spec.errorShape ?? newShape(placement)
  const spec = { ...wanted, upstream, errorShape, ...(endpoint === undefined ? {} : { endpoint }) }
  const id = same?.id ?? newId('connector')
  const name = same?.name ?? newName(input, others)
  refuseRename(name, placement)
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
 * Returns whether the upstream may have private addresses, and whether the credential may be sent without TLS. An
 * absent value in the input keeps the stored value.
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
 * Returns the error for a host that another connector governs. The error refers to the manifest if objects can be
 * changed only in their YAML manifests.
 */
function hostTaken(q: Query, host: string, owner: string): ChaperoneError {
  return preventedEdit(q, `${host} already belongs to ${owner}`, {
    inYaml: 'Change the manifest of that connector, or name other domains.',
    inApi: 'Remove that connector first, or name other domains.',
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

/** Throws `conflict` when the name of the input is taken. */
function newName({ name, type }: NewConnector, rows: readonly ConnectorRow[]): string {
  if (name === undefined) return freeName(type, rows)
  if (rows.some((row) => row.name === name))
    throw new ChaperoneError('conflict', {
      detail: `A connector named ${name} already exists. Choose another name.`,
    })
  return name
}

/** Throws `validation` when the input gives another name to a connector that exists. */
function refuseRename(name: string, { input, path = '' }: Placement): void {
  if (input.name === undefined || input.name === name) return
  throw validationError([
    `${fieldAt(path, 'name')}: these hosts belong to the connector ${name}, and the name of a connector cannot change; leave out the name`,
  ])
}

function freeName(type: string, rows: readonly ConnectorRow[]): string {
  const names = new Set(rows.map((row) => row.name))
  let name = type
  for (let suffix = 2; names.has(name); suffix++) name = `${type}-${suffix}`
  return name
}

/** Removes a connector in the caller's transaction. The caller records the audit event. */
export function removeConnector(q: Query, id: string): Promise<void> {
  return deleteConnector(q, id)
}

/**
 * Inserts or replaces a connector in the caller's transaction. The caller records the event. If the new row has no
 * source of short-lived credentials, deletes the short-lived credentials of the replaced row. `before`: the replaced
 * row; undefined for a new connector.
 */
export async function saveConnector(
  q: Query,
  row: ConnectorInput,
  before: ConnectorRow | undefined,
): Promise<ConnectorRow> {
  const saved = await upsertConnector(q, row)
  if (before !== undefined && hasMinted(before)) await deleteUnminted(q, [row.id])
  return saved
}

/**
 * Replaces or deletes the credential of every Connector in force whose manifest file names the credential `name` of the
 * encrypted store. Returns true when the credential of at least one Connector changed.
 */
export async function replaceStoredCredential(
  q: Query,
  keyring: Keyring,
  { name, secret }: { readonly name: string; readonly secret: string | null },
): Promise<boolean> {
  const rows = await listWithStoredCredential(q, name)
  const outdated = rows.filter(
    ({ id, credential }) => (credential === null ? null : keyring.open(credential, id)) !== secret,
  )
  for (const { id } of outdated) await setCredential(q, id, secret === null ? null : keyring.seal(secret, id))
  if (secret === null && outdated.length > 0)
    await deleteUnminted(
      q,
      outdated.map(({ id }) => id),
    )
  return outdated.length > 0
}
