import { fold } from '../../../core/action/pattern.ts'
import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import { namespaceOfScope } from '../../../core/decision/kill-switch/kill-switch.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import {
  AuditQuery,
  AuditReply,
  KillSwitchBody,
  KillSwitchReply,
  RegisterBody,
  RegisterReply,
} from '../../../core/wire/v1.ts'
import { agentOf, requireCapability } from '../../http/auth/agent-principal.ts'
import type { AgentPrincipal } from '../../http/auth/authenticate.ts'
import { refuseRestricted, restrictionOf } from '../../http/auth/restriction.ts'
import { type Principal, type Route, route } from '../../http/route.ts'
import { actorOf } from '../audit/actor.ts'
import type { AuditReading } from '../audit/reading.ts'
import { checkedScope, type KillChange, type KillSwitch } from '../kill-switch/service.ts'
import type { Agents } from './service.ts'

export type OrgRoutesDeps = {
  readonly agents: Agents
  readonly auditReading: AuditReading
  readonly killSwitch: KillSwitch
}

/** Returns the routes of the v1 API for agents, the audit log and the kill switch. */
export function createOrgRoutes(deps: OrgRoutesDeps): readonly Route[] {
  return [register(deps), audit(deps), killSwitch(deps)]
}

function register({ agents }: OrgRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/v1/agents/register',
    auth: 'agent',
    summary: 'Registers another agent (capability agents:register); its key is shown once',
    body: RegisterBody,
    response: RegisterReply,
    statuses: [403, 409],
    handler: async ({ principal, body }) => {
      requireCapability(agentOf(principal), 'agents:register')
      refuseElsewhere(agentOf(principal), body.name)
      const { agent, key } = await agents.create(actorOf(principal), body)
      return { agent_id: agent.id, api_key: key.key, api_key_prefix: key.prefix }
    },
  })
}

/**
 * Throws `forbidden` when an agent of one namespace registers an agent of another namespace, whatever capabilities the
 * calling agent has.
 */
function refuseElsewhere({ name }: AgentPrincipal, registered: string): void {
  const namespace = namespaceOf(name)
  if (namespace === '' || namespaceOf(registered) === namespace) return
  throw new ChaperoneError('forbidden', {
    detail: `Agent ${name} may register agents of its own namespace only. Use a name of the form ${namespace}/NAME.`,
  })
}

function audit({ auditReading }: OrgRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/v1/audit/events',
    auth: 'agent',
    summary:
      "Lists the agent's own events, newest first. With the capability audit:read, lists all events; for an agent of a namespace, all events of that namespace",
    query: AuditQuery,
    response: AuditReply,
    handler: async ({ principal, query }) => {
      const { agentId, name, capabilities } = agentOf(principal)
      if (!capabilities.includes('audit:read')) return auditReading.page({ of: 'agent', key: agentId }, query)
      const key = namespaceOf(name)
      return auditReading.page(key === '' ? { of: 'all' } : { of: 'namespace', key }, query)
    },
  })
}

function killSwitch({ killSwitch: service }: OrgRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/v1/org/kill-switch',
    auth: 'agent_or_admin',
    admits: ['page_secret', 'machine_token', 'unchecked', 'break_glass'],
    summary:
      'Activates a kill switch for everything or for a scope, or lifts the kill switches that this route activated; returns whether a kill switch covers the scope. An agent of a namespace can choose only that namespace or a scope within it',
    body: KillSwitchBody,
    response: KillSwitchReply,
    statuses: [403],
    handler: async ({ principal, body }) => {
      if (principal.kind === 'agent') requireCapability(principal, 'org:kill_switch')
      if (!body.active) refuseRestricted(principal)
      const { narrowed, ...reach } = reachOf(principal, body.scope)
      const done = await service.set({
        active: body.active,
        reason: body.reason,
        ...reach,
        by: actorOf(principal),
        isChecked: restrictionOf(principal) !== 'unchecked',
      })
      const warnings = [narrowed, done.warning].filter((text) => text !== undefined)
      return {
        kill_switch: done.effective.some(({ scope }) => scope === 'all' || scope === done.scope),
        ...(warnings.length === 0 ? {} : { warning: warnings.join(' ') }),
        ...(done.nearest === undefined ? {} : { nearest: [...done.nearest] }),
      }
    },
  })
}

type Reach = Pick<KillChange, 'scope' | 'source' | 'namespaces'> & { readonly narrowed?: string }

/**
 * Returns the scope and the source of the caller's kill switch. When an agent of a namespace requests the
 * scope `all`, returns the scope of this namespace: an error instead would leave the agents of the namespace
 * running. Throws `forbidden` for any other scope outside the namespace.
 */
function reachOf(principal: Principal, asked: string | undefined): Reach {
  const namespace = principal.kind === 'agent' ? fold(namespaceOf(principal.name)) : ''
  if (principal.kind !== 'agent' || namespace === '') return { scope: asked, source: 'api' }
  const scope = checkedScope(asked)
  const own = { source: `api:${namespace}`, namespaces: new Set([namespace]) }
  if (namespaceOfScope(scope) === namespace) return { ...own, scope }
  const whole = `namespace:${namespace}`
  if (scope === 'all')
    return {
      ...own,
      scope: whole,
      narrowed: `The scope all was limited to ${whole}, because agent ${principal.name} is of this namespace.`,
    }
  throw new ChaperoneError('forbidden', {
    detail: `Agent ${principal.name} may set kill switches of its own namespace only. Use ${whole}, agent:${namespace}/NAME or gateway:${namespace}/NAME.`,
  })
}
