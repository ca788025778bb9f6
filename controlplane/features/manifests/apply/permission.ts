import { isDeepStrictEqual } from 'node:util'
import { idlePermission, unreadSockets } from '../../../../core/decision/permissions/permission-warnings.ts'
import { unknownActions } from '../../../../core/decision/policies/policy-warnings.ts'
import { judgeGrantObject } from '../../approvals/grants/grant-objects.ts'
import { bindGateways, namespaceOf, standing } from '../../gateways/binding.ts'
import type { BindableGateway } from '../../gateways/rows.ts'
import type { PermissionInput } from '../../permissions/service.ts'
import type { ObjectKey } from '../rows.ts'
import { fullNameOf, ownerOf } from '../store.ts'
import {
  type Applied,
  type Applier,
  type ApplyContext,
  accepted,
  MANIFESTS_ACTOR,
  type ManifestObject,
  namesOf,
  refused,
} from './context.ts'

export const permissionApplier: Applier<'Permission'> = {
  async apply(context, object) {
    const { namespace, boundBefore } = object
    const judged = await judgeGrantObject(context.q, object)
    if (judged === 'grant') return showGrant(context, object)
    const all = await context.reads.gateways(namespace, object.spec.gatewayRefs)
    const labels = await context.reads.labels(namespace)
    const asking = { kind: 'permissions', namespace, labels, boundBefore } as const
    const { gateways, lost, reasons, problem, bound } = bindGateways(all, asking, object.spec.gatewayRefs)
    const invalid = [...repeatedRules(object), ...foreignAgents(object, [...gateways, ...lost])]
    if (invalid.length > 0 && gateways.length + lost.length > 0) {
      const changed = await narrow(context, object, asking)
      return refused({ reasons: invalid, problem: 'Invalid', bound, changed })
    }
    const rows = [
      ...gateways.flatMap((gateway) => rowsOf(context, object, gateway)),
      ...lost.flatMap((gateway) => keptOf(object, rowsOf(context, object, gateway))),
    ]
    const changed = await replace(context, object, rows)
    if (gateways.length === 0) {
      const inForce = rows.length === 0 ? 'nothing' : 'binding_lost'
      return refused({ reasons, problem: problem ?? 'GatewayNotFound', bound, changed, inForce })
    }
    const ofGrant = judged === 'ordinary' ? [] : [judged.warning]
    const warnings = [...ofGrant, ...ruleWarnings(object, await context.reads.declaredActions())]
    return accepted({ changed, gateways: namesOf(gateways), warnings, reasons, problem, bound })
  },
  async inForce({ reads }, key) {
    return (await reads.permissions(key)).length === 0 ? 'nothing' : 'last_good'
  },

  remove: (context, key) => replace(context, key, []),
}

/**
 * Accepts a Permission that only shows a grant. Such a Permission has no rules in force, because the grant itself
 * approves requests.
 */
async function showGrant(context: ApplyContext, object: ManifestObject<'Permission'>): Promise<Applied> {
  const { namespace, spec } = object
  const gateways = spec.gatewayRefs.map((ref) => `${ref.namespace ?? namespace}/${ref.name}`)
  return accepted({ changed: await replace(context, object, []), gateways })
}

/**
 * Keeps the last accepted rows of a refused Permission in force. At Gateways that no longer admit the object, only
 * its rows that deny or hold remain.
 */
async function narrow(
  context: ApplyContext,
  object: ManifestObject<'Permission'>,
  asking: Parameters<typeof standing>[1],
): Promise<boolean> {
  const isOf = (rows: readonly BindableGateway[], { gatewayId }: PermissionInput) =>
    rows.some(({ id }) => id === gatewayId)
  const rows = await context.reads.permissions(object)
  const present = await context.reads.gatewaysWithIds([...new Set(rows.map(({ gatewayId }) => gatewayId))])
  const { gateways, lost } = standing(present, asking)
  const standingRows = rows.filter((row) => isOf(gateways, row))
  const kept = keptOf(
    object,
    rows.filter((row) => isOf(lost, row)),
  )
  return replace(context, object, [...standingRows, ...kept])
}

/**
 * Returns the rows that remain in force at a Gateway that no longer admits their object: the rows that deny or hold,
 * for agents of the object's namespace only. Rows of a manifests folder remain in force for all agents, because a
 * folder has one owner and its agents have no namespace.
 */
function keptOf(
  { namespace, source }: ManifestObject<'Permission'>,
  rows: readonly PermissionInput[],
): PermissionInput[] {
  const own = rows.map((row) => (row.agent === '*' ? { ...row, agent: `${namespace}/*` } : row))
  const speaking = source === 'file' ? rows : own.filter(({ agent }) => agent.startsWith(`${namespace}/`))
  return speaking.filter(({ decision }) => decision !== 'allow')
}

/** Replaces the rows of a Permission if the stored rows differ. Returns true when rows were replaced. */
async function replace(
  { orgId, reads, writes }: ApplyContext,
  key: ObjectKey,
  rows: readonly PermissionInput[],
): Promise<boolean> {
  const existing = await reads.permissions(key)
  if (isDeepStrictEqual(sorted(existing), sorted(rows))) return false
  writes.replacePermissions(ownerOf(key), rows)
  reads.permissionsWritten(key, rows)
  const details = {
    change: rows.length === 0 ? 'permission.removed' : 'permission.applied',
    permission: fullNameOf(key),
    rules: rows.length,
  }
  const event = {
    orgId,
    actor: MANIFESTS_ACTOR,
    type: 'gateway.updated',
    manifest: fullNameOf(key),
  } as const
  writes.record({ ...event, details })
  return true
}

function rowsOf(
  { orgId }: ApplyContext,
  object: ManifestObject<'Permission'>,
  gateway: BindableGateway,
): PermissionInput[] {
  const { source, managedBy, spec } = object
  const gatewayId = gateway.id
  return spec.agents.flatMap((agent) =>
    spec.rules.map(({ connectorType, actionPattern, decision, reason }) => ({
      orgId,
      gatewayId,
      connectorType,
      actionPattern,
      decision,
      source,
      managedBy,
      agent: agentName(object, agent, gateway),
      reason: reason ?? null,
      owner: ownerOf(object),
    })),
  )
}

/**
 * Returns the full name of an agent. Agents of a cluster are named `namespace/name`; a name without a namespace means
 * an agent of the manifest's namespace. At a Gateway of another namespace, `*` means all agents of the manifest's
 * namespace only.
 */
function agentName(
  { source, namespace }: ManifestObject<'Permission'>,
  agent: string,
  gateway: BindableGateway,
): string {
  if (source === 'file') return agent
  if (agent === '*') return namespaceOf(gateway) === namespace ? agent : `${namespace}/*`
  return agent.includes('/') ? agent : `${namespace}/${agent}`
}

/**
 * Returns the errors for agents of other namespaces. Only a Permission in the namespace of the Gateway may name agents
 * of other namespaces.
 */
function foreignAgents(
  { namespace, source, spec }: ManifestObject<'Permission'>,
  gateways: readonly BindableGateway[],
): readonly string[] {
  const guest = gateways.find((gateway) => namespaceOf(gateway) !== namespace)
  if (source === 'file' || guest === undefined) return []
  const foreign = spec.agents.filter((agent) => agent.includes('/') && !agent.startsWith(`${namespace}/`))
  return foreign.map(
    (agent) =>
      `spec.agents names ${agent}, which is not of namespace ${namespace}; under Gateway ${guest.name} of another namespace, a Permission may name only agents of its own namespace; remove the agent`,
  )
}

function repeatedRules({ spec }: ManifestObject<'Permission'>): readonly string[] {
  const first = new Map<string, number>()
  return spec.rules.flatMap(({ connectorType, actionPattern }, index) => {
    const key = `${connectorType} ${actionPattern}`
    const earlier = first.get(key)
    if (earlier === undefined) first.set(key, index)
    return earlier === undefined
      ? []
      : [
          `spec.rules[${index}] repeats the pattern ${actionPattern} of spec.rules[${earlier}]; keep one of them`,
        ]
  })
}

/**
 * Returns warnings about action patterns that match no declared action and are probably misspelt, and about patterns
 * that allow traffic which the gateway does not read.
 */
function ruleWarnings(
  { spec }: ManifestObject<'Permission'>,
  declared: readonly string[],
): readonly string[] {
  const patterns = spec.rules.map(({ actionPattern }) => actionPattern)
  const idle = spec.rules.flatMap((rule, index) => {
    const isForeign = idlePermission({ ...rule, decision: 'deny' }) !== null
    const isUnknown = unknownActions([rule.actionPattern]).length > 0
    const why = isForeign || !isUnknown ? idlePermission(rule, declared) : null
    return why === null ? [] : [`spec.rules[${index}]: ${why}`]
  })
  const unread = spec.rules.flatMap((rule, index) =>
    unreadSockets(rule, spec.rules).map((text) => `spec.rules[${index}]: ${text}`),
  )
  return [...idle, ...unread, ...unknownActions(patterns.filter((pattern) => !declared.includes(pattern)))]
}

function sorted(rows: readonly PermissionInput[]): PermissionInput[] {
  const plain = rows.map((row) => ({ ...row }))
  return plain.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

function keyOf(row: PermissionInput): string {
  return JSON.stringify([row.gatewayId, row.agent, row.connectorType, row.actionPattern])
}
