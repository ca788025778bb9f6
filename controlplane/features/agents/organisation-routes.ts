import { fold } from '../../../core/action/pattern.ts'
import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import { namespaceOfScope } from '../../../core/decision/kill-switch/kill-switch.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import {
  AuditQuery,
  AuditReply,
  KillSwitchBody,
  KillSwitchReply,
  PoliciesReply,
  RegisterBody,
  RegisterReply,
  RespondBody,
  RespondParams,
  RespondReply,
} from '../../../core/wire/v1.ts'
import { agentOf, requireCapability } from '../../http/auth/agent-principal.ts'
import type { AgentPrincipal } from '../../http/auth/authenticate.ts'
import { refuseRestricted, restrictionOf } from '../../http/auth/restriction.ts'
import { type Principal, type Route, route } from '../../http/route.ts'
import type { Actions } from '../actions/service.ts'
import { answererOf } from '../approvals/answers/answerer.ts'
import type { Approvals } from '../approvals/service.ts'
import { actorOf } from '../audit/actor.ts'
import type { AuditReading } from '../audit/reading.ts'
import { checkedScope, type KillChange, type KillSwitch } from '../kill-switch/service.ts'
import type { PolicyRow } from '../policies/rows.ts'
import type { Policies } from '../policies/service.ts'
import { policySummary } from '../policies/view.ts'
import type { Agents } from './service.ts'

export type OrgRoutesDeps = {
  readonly agents: Agents
  readonly policies: Policies
  readonly auditReading: AuditReading
  readonly approvals: Approvals
  readonly killSwitch: KillSwitch
  readonly actions: Actions
}

/** Returns the routes of the v1 API for agents, policies, the audit log, approvals and the kill switch. */
export function createOrgRoutes(deps: OrgRoutesDeps): readonly Route[] {
  return [register(deps), policies(deps), audit(deps), respond(deps), killSwitch(deps)]
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

function policies({ policies: service }: OrgRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/v1/policies',
    auth: 'agent',
    summary:
      'Lists the policies, highest priority first; an agent of a namespace gets no policies of other namespaces',
    response: PoliciesReply,
    handler: async ({ principal }) => {
      const rows = await policiesOf(service, namespaceOf(agentOf(principal).name))
      return { policies: rows.map(policySummary) }
    },
  })
}

/**
 * Returns the policies that the caller may read. An agent of a namespace reads the policies of its namespace, and
 * policies of the API that are bound to no gateway.
 */
async function policiesOf(service: Policies, namespace: string): Promise<readonly PolicyRow[]> {
  const all = await service.list('all')
  if (namespace === '') return all
  const own = new Set((await service.list(new Set([namespace]))).map(({ id }) => id))
  return all.filter(
    ({ id, source, gatewayIds }) => own.has(id) || (source === 'api' && gatewayIds.length === 0),
  )
}

function audit({ auditReading }: OrgRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/v1/audit/events',
    auth: 'agent',
    summary:
      "Lists the agent's own events, newest first; with the capability audit:read all events (of its namespace for an agent of a namespace)",
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

const VIA = { session: 'api', admin_token: 'cli', approver_key: 'api', cluster: 'cli' } as const

function respond({ approvals, actions }: OrgRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/v1/approvals/:approvalId/respond',
    auth: 'approvals/answer',
    isNamespaced: true,
    summary:
      'Answers the approval of an action, each user once; `pending` until every required group has answered. 409 when it has ended or the user has answered it, 410 when it has expired',
    params: RespondParams,
    body: RespondBody,
    response: RespondReply,
    statuses: [403, 404, 409, 410],
    handler: async ({ principal, params, body }) => {
      const user = userOf(principal)
      const { id, status, approval, answeredGroups } = await approvals.respond({
        id: params.approvalId,
        kinds: ['action'],
        approved: body.decision === 'approve',
        note: body.reason ?? null,
        by: answererOf(user),
        via: VIA[user.via],
      })
      const token = approval.actId === null ? null : await actions.tokenOf(approval.actId)
      const partial = status === 'pending' ? { answered_groups: answeredGroups } : {}
      return { approval_id: id, status, decision_token: token, ...partial }
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
      'Activates the kill switch for everything or a scope, or lifts those of this API; returns whether a kill switch covers the scope. An agent of a namespace activates it for that namespace, or a scope within it',
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
 * Returns the scope and the source of the caller's kill switch. For an agent of a namespace, the scope `all` narrows to
 * this namespace, because an activation must not fail. Throws `forbidden` for any other scope outside the namespace.
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
      narrowed: `The scope is ${whole}, the namespace of agent ${principal.name}.`,
    }
  throw new ChaperoneError('forbidden', {
    detail: `Agent ${principal.name} may set kill switches of its own namespace only. Use ${whole}, agent:${namespace}/NAME or gateway:${namespace}/NAME.`,
  })
}

function userOf(principal: Principal): Extract<Principal, { kind: 'user' }> {
  if (principal.kind === 'user') return principal
  throw new Error('an approver is a user')
}
