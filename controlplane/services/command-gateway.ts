import { ChaperoneError } from '../../core/errors.ts'
import { EnforcementSet, KillSwitchSet } from '../../core/wire/internal.ts'
import { gatewayActor } from '../events.ts'
import { appendAudit } from '../store/audit.ts'
import { bumpVersion } from '../store/config-version.ts'
import { getGateway, upsertGateway } from '../store/gateways.ts'
import { type CommandDeps, type CommandGateway, type CommandHandler, parsed } from './command-context.ts'
import { refuseManaged } from './managed.ts'

export function createGatewayCommands(
  deps: CommandDeps,
): Record<'kill-switch' | 'enforcement', CommandHandler> {
  return {
    'kill-switch': async ({ name }, input) => {
      const { active, reason, scope } = parsed(KillSwitchSet, input)
      return deps.killSwitch.set({ active, reason, scope, source: `gateway:${name}`, by: gatewayActor(name) })
    },
    enforcement: (gateway, input) => setEnforcement(deps, gateway, parsed(EnforcementSet, input)),
  }
}

async function setEnforcement(
  { db, orgId }: CommandDeps,
  { gatewayId, name }: CommandGateway,
  { level, reason }: EnforcementSet,
): Promise<Record<string, unknown>> {
  return db.tx(async (q) => {
    const row = await getGateway(q, gatewayId)
    if (row === undefined) throw new ChaperoneError('not_found', { detail: `There is no gateway ${name}` })
    const previous = row.spec.enforcementLevel
    if (previous === level) return { ok: true, level, previous }
    refuseManaged(row)
    await upsertGateway(q, { ...row, spec: { ...row.spec, enforcementLevel: level } })
    const details = { change: 'enforcement', gateway: name, level, previous, reason: reason ?? null }
    await appendAudit(q, { orgId, actor: gatewayActor(name), eventType: 'gateway.updated', details })
    await bumpVersion(q)
    return { ok: true, level, previous }
  })
}
