import { namespaceOfScope, normaliseScope } from '../../../core/decision/kill-switch/kill-switch.ts'
import { killsIn } from '../../../core/decision/kill-switch/kills-in.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { covers, type Namespaces, type Right } from '../../../core/wire/access/rights.ts'
import { KillSwitchSet } from '../../../core/wire/gateway/internal.ts'
import { KillSwitchReply, KillSwitchState } from '../../../core/wire/kill-switch.ts'
import { refuseRestricted, restrictionOf } from '../../http/auth/restriction.ts'
import { requireRight } from '../../http/auth/rights.ts'
import { type Principal, type Route, route } from '../../http/route.ts'
import { actorOf } from '../audit/actor.ts'
import type { KillSwitch } from './service.ts'

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
      isNamespaced: true,
      summary: 'Lists the kill switches in force with user and reason',
      response: KillSwitchState,
      handler: async ({ namespaces }) => ({
        effective: shownState(namespaces, killSwitch),
        hosted_work: killSwitch.hostedWork(namespaces),
      }),
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/kill-switch',
      auth: 'killswitches/activate',
      isNamespaced: true,
      admits: ['page_secret', 'machine_token', 'unchecked', 'break_glass'],
      summary:
        'Activates the kill switch for a scope, or lifts all kill switches of the scope (admin); returns how many gateways acknowledged it',
      body: KillSwitchSet,
      response: KillSwitchReply,
      handler: async ({ principal, body }) => {
        if (!body.active) refuseRestricted(principal)
        const right = body.active ? 'killswitches/activate' : 'killswitches/lift'
        const user = await requireRight(userOf(principal), right, true)
        refuseBeyond(user, right, body.scope)
        const { order: _, ...reply } = await killSwitch.set({
          ...body,
          source: sourceOf(user, body.scope),
          by: actorOf(user),
          isChecked: restrictionOf(user) !== 'unchecked',
          namespaces: user.namespaces,
          // A user with this right in all namespaces lifts the kill switches of every source, and the audit event
          // names these sources.
          override: !body.active && user.namespaces === 'all',
        })
        return { ...reply, effective: killsIn(user.namespaces, reply.effective) }
      },
    }),
  ]
}

type User = Extract<Principal, { kind: 'user' }>

/**
 * Throws `forbidden` for a scope outside the caller's namespaces. A user whose right is limited to some namespaces
 * cannot lift the kill switches of other sources.
 */
function refuseBeyond({ namespaces }: User, right: Right, scope: string | undefined): void {
  if (namespaces === 'all' || covers(namespaces, namespaceOfScope(normaliseScope(scope)))) return
  const own = [...namespaces].map((name) => `namespace:${name}`).join(', ')
  throw new ChaperoneError('forbidden', {
    detail: `You may do this in your namespaces only. Use a scope within them, such as ${own} or agent:NAMESPACE/NAME.`,
    extra: { required_right: right },
  })
}

function shownState(namespaces: Namespaces, killSwitch: Pick<KillSwitch, 'effective' | 'announced'>) {
  const announced = new Set(killSwitch.announced())
  return killsIn(namespaces, killSwitch.effective()).map((entry) =>
    announced.has(entry) ? { ...entry, stored: false as const } : entry,
  )
}

function sourceOf({ via, namespaces }: User, scope: string | undefined): string {
  if (via === 'admin_token') return 'cli'
  const name = via === 'cluster' ? 'kubectl' : 'dashboard'
  return namespaces === 'all' ? name : `${name}:${namespaceOfScope(normaliseScope(scope))}`
}

function userOf(principal: Principal): User {
  if (principal.kind === 'user') return principal
  throw new ChaperoneError('unauthorized', { detail: 'This request requires a session.' })
}
