import { unknownActions } from '../../core/decision/policy-warnings.ts'
import { ChaperoneError } from '../../core/errors.ts'
import { PermissionSet } from '../../core/wire/internal.ts'
import { appendAudit } from '../store/audit.ts'
import { bumpVersion } from '../store/config-version.ts'
import { listPermissions, type PermissionRow, upsertPermission } from '../store/permissions.ts'
import { type CommandDeps, type CommandGateway, type CommandHandler, parsed } from './command-context.ts'
import { refuseManaged } from './managed.ts'

export function createPermissionCommands(
  deps: CommandDeps,
): Record<'permissions.set' | 'permissions.list', CommandHandler> {
  return {
    'permissions.set': (gateway, input) => setPermission(deps, gateway, parsed(PermissionSet, input)),
    'permissions.list': async ({ gatewayId, name }) => {
      const rows = await listPermissions(deps.db, gatewayId)
      return { permissions: rows.map((row) => permissionView(row, name)) }
    },
  }
}

async function setPermission(
  { db, orgId }: CommandDeps,
  gateway: CommandGateway,
  input: PermissionSet,
): Promise<Record<string, unknown>> {
  if (!namesGateway(input.gateway_name, gateway.name)) {
    throw new ChaperoneError('not_found', {
      error: 'Gateway not found',
      detail: `This is the gateway ${gateway.name}; it sets permissions for itself only, not for ${input.gateway_name}`,
    })
  }
  const { gatewayId } = gateway
  return db.tx(async (q) => {
    const same = (await listPermissions(q, gatewayId)).filter((row) => isSame(row, input))
    for (const row of same) refuseManaged(row)
    if (same[0]?.decision === input.decision) return savedView(same[0].id, input)
    const row = await upsertPermission(q, {
      orgId,
      gatewayId,
      agent: input.agent ?? '*',
      connectorType: input.connector_type,
      actionPattern: input.action_pattern,
      decision: input.decision,
      reason: null,
      source: 'api',
      managedBy: null,
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
    await appendAudit(q, { orgId, eventType: 'gateway.updated', details })
    await bumpVersion(q)
    return savedView(row.id, input)
  })
}

function savedView(id: string, { action_pattern: pattern }: PermissionSet): Record<string, unknown> {
  const warnings = unknownActions([pattern])
  return { ok: true, id, ...(warnings.length === 0 ? {} : { warnings }) }
}

/** `namespace/name`, or the name alone. */
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

function permissionView(row: PermissionRow, gatewayName: string): Record<string, unknown> {
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
