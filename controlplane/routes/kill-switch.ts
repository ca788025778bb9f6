import * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'
import { KillSwitchSet } from '../../core/wire/internal.ts'
import { KillEntry } from '../../core/wire/kill.ts'
import { actorOf } from '../events.ts'
import { refuseRestricted } from '../http/restriction.ts'
import { requireRight } from '../http/rights.ts'
import { type Principal, type Route, route } from '../http/route.ts'
import type { KillSwitch } from '../services/kill-switch.ts'

const State = z.object({ effective: z.array(KillEntry) })
const Reply = State.extend({
  ok: z.literal(true),
  active: z.boolean(),
  scope: z.string(),
  acknowledged: z.object({ acked: z.number(), total: z.number(), ms: z.number() }),
  /** `false`: in force on connected gateways and not stored yet. */
  stored: z.literal(false).optional(),
  warning: z.string().optional(),
  nearest: z.array(z.string()).optional(),
})

export function createKillSwitchRoutes({
  killSwitch,
}: {
  readonly killSwitch: KillSwitch
}): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/kill-switch',
      auth: 'killswitches/get',
      summary: 'What is stopped, by whom and why',
      response: State,
      handler: async () => ({ effective: killSwitch.effective() }),
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/kill-switch',
      auth: 'killswitches/activate',
      admits: ['page_secret', 'machine_token', 'unchecked'],
      summary: 'Stops a scope, or lifts it whatever stopped it (admin); says how many gateways took notice',
      body: KillSwitchSet,
      response: Reply,
      handler: async ({ principal, body }) => {
        const user = userOf(principal)
        if (!body.active) {
          refuseRestricted(principal)
          await requireRight(user, 'killswitches/lift', false)
        }
        const { order: _, ...reply } = await killSwitch.set({
          ...body,
          source: user.via === 'admin_token' ? 'cli' : 'dashboard',
          by: actorOf(user),
          // A person with this role answers for lifting what another source has latched; the audit names them all.
          override: !body.active,
        })
        return reply
      },
    }),
  ]
}

function userOf(principal: Principal): Extract<Principal, { kind: 'user' }> {
  if (principal.kind === 'user') return principal
  throw new ChaperoneError('unauthorized', { detail: 'This needs a session' })
}
