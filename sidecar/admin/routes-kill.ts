import { normaliseScope } from '../../core/decision/kill-switch.ts'
import type { CommandReply } from '../../core/wire/commands.ts'
import { KillSwitchSet } from '../../core/wire/internal.ts'
import type { Commands } from '../control/commands.ts'
import { isStored } from '../control/control-plane.ts'
import type { KillState } from '../control/kill-state.ts'
import { type ApiAnswer, ok } from './api-http.ts'
import { type ApiRoute, post } from './api-route.ts'

export type KillRouteDeps = { readonly commands: Commands; readonly kill: KillState }

/**
 * A stop takes effect here before anybody else is asked, and stays when the control plane cannot be reached; it is
 * forwarded once it is back. Lifting one that the control plane knows needs the control plane.
 */
export function killRoutes(deps: KillRouteDeps): readonly ApiRoute[] {
  return [
    post('/internal/kill-switch', KillSwitchSet, ({ active, reason, scope }) => {
      const stop = { scope: normaliseScope(scope), reason: reason ?? '' }
      return active ? activate(deps, stop) : deactivate(deps, stop)
    }),
  ]
}

type Stop = { readonly scope: string; readonly reason: string }

async function activate({ commands, kill }: KillRouteDeps, { scope, reason }: Stop): Promise<ApiAnswer> {
  kill.setLocal(scope, reason)
  const reply = await commands({ command: 'kill-switch', input: { active: true, scope, reason } })
  if (isAway(reply)) return ok({ ...stateOf(kill, { active: true, scope }), forwarded: false })
  if (reply.status !== 200) {
    kill.clearLocal(scope)
    return reply
  }
  // A stop that the control plane could not store yet is forwarded again.
  if (isStored(reply)) kill.setForwarded(scope)
  return ok({ ...stateOf(kill, { active: true, scope }), ...reply.body })
}

async function deactivate({ commands, kill }: KillRouteDeps, { scope, reason }: Stop): Promise<ApiAnswer> {
  const input = reason === '' ? { active: false, scope } : { active: false, scope, reason }
  const reply = await commands({ command: 'kill-switch', input })
  if (reply.status === 200) {
    kill.clearForwarded(scope)
    return ok({ ...stateOf(kill, { active: false, scope }), ...reply.body })
  }
  const isOnlyOurs = kill.unforwarded().some((entry) => entry.scope === scope)
  if (!isAway(reply) || !isOnlyOurs) return reply
  kill.clearLocal(scope)
  return ok({ ...stateOf(kill, { active: false, scope }), forwarded: false })
}

function isAway(reply: CommandReply): boolean {
  return reply.status === 502 || reply.status === 503
}

function stateOf(kill: KillState, done: { readonly active: boolean; readonly scope: string }) {
  return { ok: true, ...done, effective: kill.effective() }
}
