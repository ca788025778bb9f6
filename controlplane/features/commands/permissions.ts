import { permissionWarnings } from '../../../core/decision/permissions/permission-warnings.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { CommandReplies } from '../../../core/wire/gateway/commands.ts'
import { PermissionSet } from '../../../core/wire/gateway/internal.ts'
import { bumpVersion } from '../../db/config-version.ts'
import type { Query } from '../../db/query.ts'
import { gatewayActor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { declaredNames } from '../connectors/domains.ts'
import { listConnectors } from '../connectors/rows.ts'
import { refuseManaged } from '../manifests/managed.ts'
import { listPermissions, type PermissionRow } from '../permissions/rows.ts'
import { rulesBeside } from '../permissions/rules-beside.ts'
import { savePermission } from '../permissions/service.ts'
import {
  type CommandDeps,
  type CommandGateway,
  type CommandHandlers,
  parsed,
  sessionRequirement,
} from './context.ts'

export function createPermissionCommands(
  deps: CommandDeps,
): CommandHandlers<'permissions.set' | 'permissions.list'> {
  return {
    'permissions.set': (gateway, input) => setPermission(deps, gateway, parsed(PermissionSet, input)),
    'permissions.list': async ({ gatewayId, name }) => {
      const rows = await listPermissions(deps.db, gatewayId)
      return { permissions: rows.map((row) => permissionView(row, name)) }
    },
  }
}

async function setPermission(
  deps: CommandDeps,
  gateway: CommandGateway,
  input: PermissionSet,
): Promise<CommandReplies['permissions.set']> {
  if (!namesGateway(input.gateway_name, gateway.name)) {
    throw new ChaperoneError('not_found', {
      error: 'Gateway not found',
      detail: `The gateway ${gateway.name} may set permissions for itself only, not for ${input.gateway_name}. Set gateway_name to ${gateway.name}.`,
    })
  }
  const { gatewayId } = gateway
  const { db, orgId } = deps
  const requireSession = await sessionRequirement(deps)
  return db.tx(async (q) => {
    const rows = await listPermissions(q, gatewayId)
    const same = rows.filter((row) => isSame(row, input))
    for (const row of same) refuseManaged(q, row)
    const warnings = await warningsOf(q, input, rulesBeside({ gatewayId, agent: input.agent ?? '*' }, rows))
    if (same[0]?.decision === input.decision) return { ok: true, id: same[0].id, ...warnings }
    if (!isStricter(input.decision, same[0]?.decision)) requireSession('This permission requires')
    const row = await savePermission(q, {
      orgId,
      gatewayId,
      agent: input.agent ?? '*',
      connectorType: input.connector_type,
      actionPattern: input.action_pattern,
      decision: input.decision,
      reason: null,
      source: 'api',
      managedBy: null,
      origin: 'command_line',
      owner: null,
    })
    const { connectorType, actionPattern, agent, decision } = row
    const details = {
      change: 'permission.set',
      gateway: gateway.name,
      connectorType,
      actionPattern,
      agent,
      decision,
    }
    await recordEvent(q, { orgId, actor: gatewayActor(gateway.name), type: 'gateway.updated', details })
    await bumpVersion(q)
    return { ok: true, id: row.id, ...warnings }
  })
}

async function warningsOf(
  q: Query,
  input: PermissionSet,
  beside: readonly PermissionRow[],
): Promise<{ warnings?: string[] }> {
  const declared = (await listConnectors(q)).flatMap(declaredNames)
  const rule = {
    connectorType: input.connector_type,
    actionPattern: input.action_pattern,
    decision: input.decision,
  }
  const warnings = permissionWarnings(rule, declared, beside)
  return warnings.length === 0 ? {} : { warnings: [...warnings] }
}

/**
 * Reports whether the permission can only make decisions stricter. Any other permission may override a stricter
 * permission, because the permission with the narrower pattern decides.
 */
function isStricter(decision: PermissionSet['decision'], replaced: string | undefined): boolean {
  return decision === 'deny' || (decision === 'require_approval' && replaced === 'allow')
}

/** Reports whether `given` names the gateway, either as `namespace/name` or by the name without its namespace. */
function namesGateway(given: string, name: string): boolean {
  return given === name || given === name.slice(name.indexOf('/') + 1)
}

function isSame(row: PermissionRow, input: PermissionSet): boolean {
  return (
    row.connectorType === input.connector_type &&
    row.actionPattern === input.action_pattern &&
    row.agent === (input.agent ?? '*')
  )
}

function permissionView(
  row: PermissionRow,
  gatewayName: string,
): CommandReplies['permissions.list']['permissions'][number] {
  return {
    id: row.id,
    gateway_name: gatewayName,
    connector_type: row.connectorType,
    action_pattern: row.actionPattern,
    decision: row.decision,
    agent: row.agent,
    reason: row.reason,
    source: row.source,
    managed_by: row.managedBy,
  }
}
