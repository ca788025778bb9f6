import { normaliseScope } from '../../core/decision/kill-switch/kill-switch.ts'
import type { CommandReply } from '../../core/wire/gateway/commands.ts'
import { KillSwitchSet } from '../../core/wire/gateway/internal.ts'
import type { GatewayKillReply } from '../../core/wire/gateway/internal-replies.ts'
import type { Cancellations } from '../control/hosted-work/cancellations.ts'
import type { KillForwarding } from '../control/kill-switch/kill-forwarding.ts'
import type { KillState } from '../control/kill-switch/kill-state.ts'
import { type ApiAnswer, ok } from './api-http.ts'
import { type ApiRoute, post } from './api-route.ts'

export type KillRouteDeps = {
  readonly forwarding: KillForwarding
  readonly kill: KillState
  readonly cancellations: Pick<Cancellations, 'begin'>
}

/**
 * Returns the routes of the kill switch. An activation takes effect on this gateway immediately, also while the control
 * plane is unreachable, and is forwarded afterwards. An activation that the control plane refuses is undone. A kill
 * switch that the control plane has stored can only be lifted while the control plane is reachable.
 */
export function killRoutes(deps: KillRouteDeps): readonly ApiRoute[] {
  return [
    post('/internal/kill-switch', KillSwitchSet, ({ active, reason, scope }) => {
      const request = { scope: normaliseScope(scope), reason: reason ?? '' }
      return active ? activate(deps, request) : deactivate(deps, request)
    }),
  ]
}

type KillRequest = { readonly scope: string; readonly reason: string }

async function activate(
  { forwarding, kill, cancellations }: KillRouteDeps,
  { scope, reason }: KillRequest,
): Promise<ApiAnswer> {
  kill.setLocal(scope, reason)
  const reply = await forwarding.activate(scope)
  if (isAway(reply) || reply.status === 200) cancellations.begin()
  if (isAway(reply))
    return ok<GatewayKillReply>({ ...stateOf(kill, { active: true, scope }), forwarded: false })
  if (reply.status !== 200) {
    kill.clearLocal(scope)
    return reply
  }
  return ok<GatewayKillReply>({ ...stateOf(kill, { active: true, scope }), ...answerOf(reply) })
}

async function deactivate(
  { forwarding, kill }: KillRouteDeps,
  { scope, reason }: KillRequest,
): Promise<ApiAnswer> {
  const reply = await forwarding.lift(scope, reason)
  if (reply.status === 200)
    return ok<GatewayKillReply>({ ...stateOf(kill, { active: false, scope }), ...answerOf(reply) })
  const isOnlyOurs = kill.unforwarded().some(({ entry }) => entry.scope === scope)
  if (!isAway(reply) || !isOnlyOurs) return reply
  kill.clearLocal(scope)
  return ok<GatewayKillReply>({ ...stateOf(kill, { active: false, scope }), forwarded: false })
}

/** Returns the reply without `order`, a position of the kill state that only this gateway uses. */
function answerOf({ body: { order: _, ...body } }: CommandReply) {
  return body
}

function isAway(reply: CommandReply): boolean {
  return reply.status === 502 || reply.status === 503
}

function stateOf(kill: KillState, done: { readonly active: boolean; readonly scope: string }) {
  return { ok: true as const, ...done, effective: kill.effective() }
}
