import { isDeepStrictEqual } from 'node:util'
import { ConnectorSpec } from '../../../../core/crd/connector-spec.ts'
import { newId } from '../../../crypto/ids.ts'
import type { Keyring } from '../../../crypto/keyring.ts'
import {
  authOf,
  connectorWarnings,
  ownedDomains,
} from '../../connectors/domains.ts'
import type { ConnectorRow } from '../../connectors/rows.ts'
import { removeConnector, saveConnector } from '../../connectors/service.ts'
import type { ConnectorInput } from '../../connectors/store.ts'
import { type Binding, bindGateways, namespaceOf, standing } from '../../gateways/binding.ts'
import { type Contest, contestHosts, haveCommonBase, isOfSameOwner } from '../hosts/host-conflicts.ts'
import type { ObjectKey } from '../rows.ts'
import { fullNameOf } from '../store.ts'
import { botProblems, type Candidate, credentialWarnings, overlapsOf, problemsOf } from './connector-problems.ts'
import {
  type Applier,
  type ApplyContext,
  accepted,
  MANIFESTS_ACTOR,
  type ManifestObject,
  namesOf,
  refused,
} from './context.ts'

export const connectorApplier: Applier<'Connector'> = {
  async apply(context, object) {
    const { orgId } = context
    const binding = await bind(context, object)
    const { reasons, problem, bound } = binding
    if (binding.gateways.length === 0) {
      const changed = await connectorApplier.remove(context, object)
      return refused({ reasons, problem: problem ?? 'GatewayNotFound', bound, changed })
    }
    const row = await context.reads.connector(object.fullName)
    const candidate: Candidate = {
      id: row?.id ?? newId('connector'),
      orgId,
      name: object.fullName,
      type: object.spec.type,
      gatewayIds: binding.gateways.map((gateway) => gateway.id),
      spec: ConnectorSpec.parse(object.spec),
      source: object.source,
      managedBy: object.managedBy,
      origin: null,
    }
    const invalid = [...problemsOf(candidate, row, context), ...(await botProblems(context, object))]
    if (invalid.length > 0) {
      const changed = await narrow(context, row)
      return refused({ reasons: invalid, problem: 'Invalid', bound, changed })
    }
    const contest = await contested(context, object, { candidate, binding })
    const { won } = contest
    if (won.length === 0) {
      const changed = await narrow(context, row)
      return refused({ reasons: contest.reasons, problem: 'Conflict', bound, changed })
    }
    const isDisplacing = await displace(context, contest)
    const warnings = [...contest.reasons, ...credentialWarnings(object), ...connectorWarnings(candidate.spec)]
    const isPartial = problem === null && contest.reasons.length > 0
    const partial = {
      reasons: [...reasons, ...contest.reasons],
      problem: isPartial ? 'Conflict' : problem,
    } as const
    const outcome = { gateways: namesOf(won), warnings, bound, ...partial }
    const { lostDomains } = contest
    const wanted = { ...candidate, gatewayIds: won.map(({ id }) => id), lostDomains }
    if (row !== undefined && isSame(row, wanted, object.credential, context.keyring))
      return accepted({ changed: isDisplacing, ...outcome })
    await write(context, { before: row, candidate: wanted }, object.credential)
    return accepted({ changed: true, ...outcome })
  },

  async inForce({ reads }, key) {
    return (await reads.connector(fullNameOf(key))) === undefined ? 'nothing' : 'last_good'
  },

  async remove(context, key) {
    const { orgId, reads, writes } = context
    const row = await reads.connector(fullNameOf(key))
    if (row === undefined) return false
    await drop(context, row)
    const details = { change: 'connector.removed', connector: row.name, managed_by: row.managedBy }
    const event = { orgId, actor: MANIFESTS_ACTOR, type: 'gateway.updated', manifest: row.name } as const
    writes.record({ ...event, details })
    return true
  },
}

/**
 * Handles a Connector whose newest manifest is refused. The last accepted row and its credential stay in force, but
 * only at Gateways that still admit the Connector.
 */
async function narrow(context: ApplyContext, row: ConnectorRow | undefined): Promise<boolean> {
  const { reads } = context
  if (row === undefined || row.gatewayIds.length === 0) return false
  const rows = await reads.gatewaysWithIds(row.gatewayIds)
  const namespace = namespaceOf(row)
  const labels = await reads.labels(namespace)
  const { gateways } = standing(rows, { kind: 'connectors', namespace, labels })
  const gatewayIds = gateways.map(({ id }) => id)
  if (gatewayIds.length === row.gatewayIds.length) return false
  await restrict(context, row, { gatewayIds, lostDomains: row.lostDomains })
  return true
}

async function drop({ q, reads }: ApplyContext, { id, name }: ConnectorRow): Promise<void> {
  await removeConnector(q, id)
  reads.connectorDeleted(name)
}

async function restrict(
  context: ApplyContext,
  row: ConnectorRow,
  left: Pick<ConnectorRow, 'gatewayIds' | 'lostDomains'>,
): Promise<void> {
  if (left.gatewayIds.length === 0) return drop(context, row)
  const { q, reads } = context
  reads.connectorWritten(await saveConnector(q, { ...row, ...left, credential: undefined }, undefined))
}

/**
 * Resolves host conflicts of the Connector. Between Connectors of one owner, the Connector that was applied first keeps
 * the host, as in the API. `contestHosts` decides between owners.
 */
async function contested(
  context: ApplyContext,
  object: ManifestObject<'Connector'>,
  { candidate, binding: { gateways } }: { readonly candidate: Candidate; readonly binding: Binding },
): Promise<Contest> {
  const rivals = await context.reads.connectorsAt(candidate.gatewayIds)
  const own = rivalsOf(object, rivals).filter((rival) => isOfSameOwner(candidate, rival, gateways))
  const overlaps = overlapsOf(candidate, own)
  if (overlaps.length > 0) return { won: [], lostDomains: {}, reasons: overlaps, displaced: [] }
  const claims = await context.reads.claims([candidate.name, ...rivals.map(({ name }) => name)])
  const claimOf = (name: string) => claims.get(name) ?? { uid: '', claims: undefined }
  return contestHosts(candidate, gateways, { rivals, claimOf })
}

/**
 * Removes the hosts that this Connector wins from the Connectors that lose them. The losing Connectors are evaluated
 * again afterwards. Returns true when a Connector lost a domain.
 */
async function displace(context: ApplyContext, { displaced }: Contest): Promise<boolean> {
  const { objects } = context
  for (const [row, lost] of Map.groupBy(displaced, ({ connector }) => connector)) {
    await restrict(context, row, without(row, lost))
    const object = await objects.get(keyOfConnector(row))
    if (object !== undefined) objects.put({ ...object, accepted: false })
  }
  return displaced.length > 0
}

/**
 * Removes the lost domains from a Connector row. The Connector goes out of force at a Gateway where it has no domain
 * left, or where it lost a domain although it requires all of them.
 */
function without(
  row: ConnectorRow,
  lost: Contest['displaced'],
): Pick<ConnectorRow, 'gatewayIds' | 'lostDomains'> {
  const owned = ownedDomains(row)
  const lostAt = (gatewayId: string) => {
    const taken = lost.filter((each) => each.gatewayId === gatewayId).flatMap(({ domains }) => domains)
    if (taken.length > 0 && haveCommonBase(row.spec)) return owned
    const all = new Set([...taken, ...(row.lostDomains[gatewayId] ?? [])])
    return owned.filter((domain) => all.has(domain))
  }
  const left = row.gatewayIds.map((id) => ({ id, domains: lostAt(id) }))
  const kept = left.filter(({ domains }) => domains.length < owned.length)
  return {
    gatewayIds: kept.map(({ id }) => id),
    lostDomains: Object.fromEntries(
      kept.flatMap(({ id, domains }) => (domains.length === 0 ? [] : [[id, domains]])),
    ),
  }
}

function keyOfConnector(row: Pick<ConnectorRow, 'name'>): ObjectKey {
  const namespace = namespaceOf(row)
  return { kind: 'Connector', namespace, name: row.name.slice(namespace.length + 1) }
}

async function bind({ reads }: ApplyContext, { namespace, spec, boundBefore }: ManifestObject<'Connector'>) {
  const labels = await reads.labels(namespace)
  const asking = { kind: 'connectors', namespace, labels, boundBefore } as const
  return bindGateways(await reads.gateways(namespace, spec.gatewayRefs), asking, spec.gatewayRefs)
}

/**
 * Lists the Connectors that may not share a host with this Connector. Omits rows of the API while the credential of
 * this manifest is missing, because these rows then keep their hosts.
 */
function rivalsOf({ credential, spec }: ManifestObject<'Connector'>, rows: readonly ConnectorRow[]) {
  const isWaiting = credential === null && authOf(spec).type !== 'none'
  return isWaiting ? rows.filter((row) => row.source !== 'api') : rows
}

function isSame(
  row: ConnectorRow,
  candidate: Candidate,
  credential: string | null,
  keyring: Keyring,
): boolean {
  const { createdAt: _created, updatedAt: _updated, credential: sealed, ...rest } = row
  const stored = sealed === null ? null : keyring.open(sealed, row.id)
  return stored === credential && isDeepStrictEqual(rest, candidate)
}

async function write(
  { q, orgId, keyring, reads, writes }: ApplyContext,
  { before, candidate }: { readonly before: ConnectorRow | undefined; readonly candidate: Candidate },
  credential: string | null,
): Promise<void> {
  const sealed = credential === null ? null : keyring.seal(credential, candidate.id)
  reads.connectorWritten(await saveConnector(q, { ...candidate, credential: sealed }, before))
  const details = {
    change: 'connector.applied',
    connector: candidate.name,
    type: candidate.type,
    domains: ownedDomains(candidate),
    managed_by: candidate.managedBy,
  }
  const manifest = candidate.name
  writes.record({ orgId, actor: MANIFESTS_ACTOR, type: 'gateway.updated', manifest, details })
}
