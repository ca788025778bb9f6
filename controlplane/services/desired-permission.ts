import { isDeepStrictEqual } from 'node:util'
import { unknownActions } from '../../core/decision/policy-warnings.ts'
import { appendAudit } from '../store/audit.ts'
import { listConnectors } from '../store/connectors.ts'
import { listOwnedPermissions, type ObjectKey } from '../store/desired.ts'
import { listGateways } from '../store/gateways.ts'
import { type PermissionInput, replaceOwnedPermissions } from '../store/permissions.ts'
import {
  type Applier,
  type ApplyContext,
  accepted,
  fullNameOf,
  MANIFESTS_ACTOR,
  type ManifestObject,
  namesOf,
  refused,
} from './desired-context.ts'
import { bindGateways } from './gateway-binding.ts'
import { declaredNames, idlePermission } from './permission-warnings.ts'

export const permissionApplier: Applier<'Permission'> = {
  async apply(context, object) {
    const asking = { kind: 'permissions', namespace: object.namespace } as const
    const binding = bindGateways(await listGateways(context.q), asking, object.spec.gatewayRefs)
    if (!binding.ok) {
      const { reasons, problem } = binding
      return refused({ reasons, problem, changed: await permissionApplier.remove(context, object) })
    }
    const reasons = repeatedRules(object)
    if (reasons.length > 0) return refused({ reasons, problem: 'Invalid' })
    const rows = binding.gateways.flatMap((gateway) => rowsOf(context, object, gateway.id))
    const changed = await replace(context, object, rows)
    const declared = (await listConnectors(context.q)).flatMap(declaredNames)
    return accepted({ changed, gateways: namesOf(binding.gateways), warnings: idleRules(object, declared) })
  },
  async inForce({ q }, key) {
    return (await listOwnedPermissions(q, ownerOf(key))).length === 0 ? 'nothing' : 'last_good'
  },

  remove: (context, key) => replace(context, key, []),
}

/** Writes only when the rows differ from those that are there. */
async function replace(
  { q, orgId }: ApplyContext,
  key: ObjectKey,
  rows: readonly PermissionInput[],
): Promise<boolean> {
  const owner = ownerOf(key)
  const existing = await listOwnedPermissions(q, owner)
  if (isDeepStrictEqual(sorted(existing), sorted(rows))) return false
  await replaceOwnedPermissions(q, owner, rows)
  const details = {
    change: rows.length === 0 ? 'permission.removed' : 'permission.applied',
    permission: fullNameOf(key),
    rules: rows.length,
  }
  await appendAudit(q, { orgId, actor: MANIFESTS_ACTOR, eventType: 'gateway.updated', details })
  return true
}

function rowsOf(
  { orgId }: ApplyContext,
  object: ManifestObject<'Permission'>,
  gatewayId: string,
): PermissionInput[] {
  const { source, managedBy, spec } = object
  return spec.agents.flatMap((agent) =>
    spec.rules.map(({ connectorType, actionPattern, decision, reason }) => ({
      ...{ orgId, gatewayId, connectorType, actionPattern, decision, source, managedBy },
      agent: agentName(object, agent),
      reason: reason ?? null,
      owner: ownerOf(object),
    })),
  )
}

/** In a cluster agents are named `namespace/name`; a name alone means the manifest's own namespace. */
function agentName({ source, namespace }: ManifestObject<'Permission'>, agent: string): string {
  return source === 'file' || agent === '*' || agent.includes('/') ? agent : `${namespace}/${agent}`
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

/** Patterns that can never match: most likely spelling mistakes. */
function idleRules({ spec }: ManifestObject<'Permission'>, declared: readonly string[]): readonly string[] {
  const patterns = spec.rules.map(({ actionPattern }) => actionPattern)
  const idle = spec.rules.flatMap((rule, index) => {
    const isForeign = idlePermission({ ...rule, decision: 'deny' }) !== null
    const isUnknown = unknownActions([rule.actionPattern]).length > 0
    const why = isForeign || !isUnknown ? idlePermission(rule, declared) : null
    return why === null ? [] : [`spec.rules[${index}]: ${why}`]
  })
  return [...idle, ...unknownActions(patterns.filter((pattern) => !declared.includes(pattern)))]
}

function ownerOf(key: Pick<ObjectKey, 'namespace' | 'name'>): string {
  return `Permission/${fullNameOf(key)}`
}

function sorted(rows: readonly PermissionInput[]): PermissionInput[] {
  const plain = rows.map((row) => ({ ...row }))
  return plain.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

function keyOf(row: PermissionInput): string {
  return JSON.stringify([row.gatewayId, row.agent, row.connectorType, row.actionPattern])
}
