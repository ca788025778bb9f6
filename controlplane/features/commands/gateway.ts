import { EnforcementLevelSchema } from '../../../core/crd/gateway/gateway-fields.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { CommandReplies } from '../../../core/wire/gateway/commands.ts'
import { EnforcementSet, KillSwitchSet } from '../../../core/wire/gateway/internal.ts'
import { bumpVersion } from '../../db/config-version.ts'
import { gatewayActor } from '../audit/actor.ts'
import { getGateway } from '../gateways/rows.ts'
import { saveGateway } from '../gateways/service.ts'
import { refuseManaged } from '../manifests/managed.ts'
import {
  type CommandDeps,
  type CommandGateway,
  type CommandHandlers,
  parsed,
  sessionRequirement,
} from './context.ts'

export function createGatewayCommands(deps: CommandDeps): CommandHandlers<'kill-switch' | 'enforcement'> {
  return {
    'kill-switch': async ({ gatewayId, name, restriction }, input, forwarded) => {
      const { active, reason, scope } = parsed(KillSwitchSet, input)
      // Only a lift needs the check of the session: an activation must not wait for the database.
      if (!active) (await sessionRequirement(deps))('Lifting a kill switch requires')
      const own = forwarded && {
        id: `${gatewayId}:${forwarded.id}`,
        retriedAfterMs: forwarded.retried_after_ms,
      }
      return deps.killSwitch.set({
        active,
        reason,
        scope,
        own,
        isChecked: restriction !== 'unchecked',
        source: `gateway:${name}`,
        by: gatewayActor(name),
      })
    },
    enforcement: (gateway, input) => setEnforcement(deps, gateway, parsed(EnforcementSet, input)),
  }
}

/** Enforcement levels, ordered from the least strict to the strictest. */
const LEVELS = EnforcementLevelSchema.options

async function setEnforcement(
  deps: CommandDeps,
  { gatewayId, name }: CommandGateway,
  { level, reason }: EnforcementSet,
): Promise<CommandReplies['enforcement']> {
  const { db } = deps
  const requireSession = await sessionRequirement(deps)
  return db.tx(async (q) => {
    const row = await getGateway(q, gatewayId)
    if (row === undefined) throw new ChaperoneError('not_found', { detail: `There is no gateway ${name}.` })
    const previous = row.spec.enforcementLevel
    if (previous === level) return { ok: true, level, previous }
    if (LEVELS.indexOf(level) < LEVELS.indexOf(previous)) requireSession('A lower enforcement level requires')
    refuseManaged(q, row)
    const spec = { ...row.spec, enforcementLevel: level }
    const details = { change: 'enforcement', gateway: name, level, previous, reason: reason ?? null }
    const event = { actor: gatewayActor(name), type: 'gateway.updated', details } as const
    await saveGateway(q, { ...row, spec, origin: 'command_line' }, event)
    await bumpVersion(q)
    return { ok: true, level, previous }
  })
}
