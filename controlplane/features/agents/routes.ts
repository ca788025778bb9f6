import type { Namespaces } from '../../../core/wire/access/rights.ts'
import {
  AgentList,
  type AgentView,
  CreateAgentBody,
  CreateAgentReply,
  PatchAgentBody,
  PatchAgentReply,
} from '../../../core/wire/agents.ts'
import { refuseRestricted } from '../../http/auth/restriction.ts'
import { type Route, route } from '../../http/route.ts'
import { actorOf } from '../audit/actor.ts'
import type { Origins } from '../manifests/object-origins.ts'
import type { RunningInstances } from '../pods/rows.ts'
import type { Config } from '../settings/configuration.ts'
import type { AgentRow } from './rows.ts'
import type { AgentFields, Agents } from './service.ts'

export type AgentRoutesDeps = {
  readonly agents: Agents
  readonly origins: (namespaces: Namespaces) => Promise<Origins>
  readonly config: Pick<Config, 'gatewayNames' | 'gatewayNamed'>
}

/** Row actions that only reduce the access of an agent. A caller with a restricted token may use these row actions. */
const TIGHTENS: ReadonlySet<string | undefined> = new Set(['suspend', 'revoke', 'rotate_key'])
const STATUS_OF = { suspend: 'suspended', activate: 'active', revoke: 'revoked' } as const

export function createAgentRoutes(deps: AgentRoutesDeps): readonly Route[] {
  return [list(deps), create(deps), patch(deps)]
}

function list({ agents, config, origins: readOrigins }: AgentRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/dashboard/agents',
    auth: 'agents/get',
    isNamespaced: true,
    summary: 'Lists all agents, including revoked ones',
    response: AgentList,
    handler: async ({ namespaces }) => {
      const [rows, running, gateways, origins] = await Promise.all([
        agents.list(namespaces),
        agents.running(namespaces),
        config.gatewayNames(namespaces),
        readOrigins(namespaces),
      ])
      const view = (row: AgentRow) => ({
        ...agentView(row, { gateways, origins }),
        ...runningOf(row, running),
      })
      return { agents: rows.map(view) }
    },
  })
}

function create({ agents, config }: AgentRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/dashboard/agents',
    auth: 'agents/update',
    admits: ['machine_token'],
    summary: 'Creates an agent; its key is shown once',
    body: CreateAgentBody,
    response: CreateAgentReply,
    handler: async ({ body, principal }) => {
      if (isMoreThanAnAgent(body)) refuseRestricted(principal)
      const { gateway, ...input } = body
      const gatewayId = gateway === undefined ? undefined : (await config.gatewayNamed(gateway)).id
      const { agent, key } = await agents.create(actorOf(principal), { ...input, gatewayId })
      return { ok: true as const, agent_id: agent.id, api_key: key.key, api_key_prefix: key.prefix }
    },
  })
}

function patch({ agents, config, origins: readOrigins }: AgentRoutesDeps): Route {
  return route({
    method: 'PATCH',
    path: '/api/dashboard/agents',
    auth: 'agents/update',
    admits: ['machine_token'],
    summary: 'Suspends, activates or revokes an agent, gives it a new key, or changes its fields',
    body: PatchAgentBody,
    response: PatchAgentReply,
    handler: async ({ body, principal, namespaces }) => {
      const { agent_id: id, action, gateway, ...rest } = body
      if (!TIGHTENS.has(action)) refuseRestricted(principal)
      const by = actorOf(principal)
      const view = async (row: AgentRow) => {
        const [gateways, origins] = [await config.gatewayNames(namespaces), await readOrigins(namespaces)]
        return agentView(row, { gateways, origins })
      }
      if (action === 'rotate_key') {
        const { agent, key } = await agents.rotateKey(by, id)
        return { ok: true as const, agent: await view(agent), api_key: key.key, api_key_prefix: key.prefix }
      }
      if (action !== undefined)
        return { ok: true as const, agent: await view(await agents.setStatus(by, id, STATUS_OF[action])) }
      const moved = gateway === undefined ? {} : { gatewayId: (await config.gatewayNamed(gateway)).id }
      return {
        ok: true as const,
        agent: await view(await agents.update(by, id, { ...given(rest), ...moved })),
      }
    },
  })
}

/**
 * Reports whether the new agent would get access beyond the default rules: by capabilities, or by a gateway with other
 * rules.
 */
function isMoreThanAnAgent({
  capabilities = [],
  gateway,
}: Pick<CreateAgentBody, 'capabilities' | 'gateway'>): boolean {
  return capabilities.length > 0 || gateway !== undefined
}

function agentView(
  row: AgentRow,
  { gateways, origins }: { readonly gateways: ReadonlyMap<string, string>; readonly origins: Origins },
): AgentView {
  return {
    agent_id: row.id,
    name: row.name,
    runtime: row.runtime,
    environment: row.environment,
    status: row.status,
    capabilities: [...row.capabilities],
    metadata: row.metadata,
    api_key_prefix: row.apiKeyPrefix,
    gateway: gateways.get(row.gatewayId ?? '') ?? null,
    last_seen_at: row.lastSeenAt?.toISOString() ?? null,
    source: row.source,
    managed_by: row.managedBy,
    origin: origins.ofAgent(row),
    created_at: row.createdAt.toISOString(),
  }
}

/**
 * Returns the field `running`. A revoked agent has no such field, because instances are found by the agent's name, and
 * a new agent may have the same name.
 */
function runningOf(
  { name, status }: AgentRow,
  running: ReadonlyMap<string, RunningInstances>,
): Pick<AgentView, 'running'> {
  const found = status === 'revoked' ? undefined : running.get(name)
  return found === undefined ? {} : { running: { pods: found.pods, instances: [...found.instances] } }
}

function given(fields: Partial<PatchAgentBody>): AgentFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
