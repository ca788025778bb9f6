import * as z from 'zod'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import { actorOf } from '../../events.ts'
import { refuseRestricted } from '../../http/auth/restriction.ts'
import { AgentName, Capabilities, Environment, Id, Metadata, Ok, Runtime } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { Origins } from '../manifests/object-origins.ts'
import type { Config } from '../settings/configuration.ts'
import type { AgentFields, Agents } from './service.ts'
import type { AgentRow } from './store.ts'

export type PeopleRoutesDeps = {
  readonly agents: Agents
  readonly origins: (namespaces: Namespaces) => Promise<Origins>
  readonly config: Pick<Config, 'gatewayNames' | 'gatewayNamed'>
}

const AgentView = z.looseObject({ agent_id: z.string(), name: z.string(), status: z.string() })

const CreateBody = z.strictObject({
  name: AgentName,
  runtime: Runtime,
  environment: Environment,
  capabilities: Capabilities.optional(),
  metadata: Metadata.optional(),
  gateway: z.string().min(1).max(253).optional(),
})

const PatchFields = z.strictObject({
  agent_id: Id,
  action: z.enum(['suspend', 'activate', 'revoke', 'rotate_key']).optional(),
  name: AgentName.optional(),
  runtime: Runtime.optional(),
  environment: Environment.optional(),
  capabilities: Capabilities.optional(),
  metadata: Metadata.optional(),
  gateway: z.string().min(1).max(253).optional(),
})

const PatchBody = PatchFields.refine((body) => Object.keys(body).length > 1, {
  path: ['action'],
  message: 'name an action or a field to change',
}).refine((body) => body.action === undefined || Object.keys(body).length === 2, {
  path: ['action'],
  message: 'goes alone: change fields in a request of their own',
})

/** Give no agent more than it has. */
const TIGHTENS: ReadonlySet<string | undefined> = new Set(['suspend', 'revoke', 'rotate_key'])
const STATUS_OF = { suspend: 'suspended', activate: 'active', revoke: 'revoked' } as const

export function createPeopleRoutes(deps: PeopleRoutesDeps): readonly Route[] {
  return [list(deps), create(deps), patch(deps)]
}

function list({ agents, config, origins: readOrigins }: PeopleRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/dashboard/agents',
    auth: 'agents/get',
    isNamespaced: true,
    summary: 'All agents, revoked ones too',
    response: z.object({ agents: z.array(AgentView) }),
    handler: async ({ namespaces }) => {
      const [rows, gateways, origins] = await Promise.all([
        agents.list(namespaces),
        config.gatewayNames(namespaces),
        readOrigins(namespaces),
      ])
      return { agents: rows.map((row) => agentView(row, { gateways, origins })) }
    },
  })
}

function create({ agents, config }: PeopleRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/dashboard/agents',
    auth: 'agents/update',
    admits: ['machine_token'],
    summary: 'Creates an agent; its key is shown this once',
    body: CreateBody,
    response: Ok.extend({ agent_id: z.string(), api_key: z.string(), api_key_prefix: z.string() }),
    handler: async ({ body, principal }) => {
      if (isMoreThanAnAgent(body)) refuseRestricted(principal)
      const { gateway, ...input } = body
      const gatewayId = gateway === undefined ? undefined : (await config.gatewayNamed(gateway)).id
      const { agent, key } = await agents.create(actorOf(principal), { ...input, gatewayId })
      return { ok: true, agent_id: agent.id, api_key: key.key, api_key_prefix: key.prefix }
    },
  })
}

function patch({ agents, config, origins: readOrigins }: PeopleRoutesDeps): Route {
  return route({
    method: 'PATCH',
    path: '/api/dashboard/agents',
    auth: 'agents/update',
    admits: ['machine_token'],
    summary: 'Suspends, activates, revokes an agent, gives it a new key, or changes its fields',
    body: PatchBody,
    response: Ok.extend({
      agent: AgentView,
      api_key: z.string().optional(),
      api_key_prefix: z.string().optional(),
    }),
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
        return { ok: true, agent: await view(agent), api_key: key.key, api_key_prefix: key.prefix }
      }
      if (action !== undefined)
        return { ok: true, agent: await view(await agents.setStatus(by, id, STATUS_OF[action])) }
      const moved = gateway === undefined ? {} : { gatewayId: (await config.gatewayNamed(gateway)).id }
      return { ok: true, agent: await view(await agents.update(by, id, { ...given(rest), ...moved })) }
    },
  })
}

/** Capabilities and a gateway with other rules give an agent more than the rules in force. */
function isMoreThanAnAgent({ capabilities = [], gateway }: z.infer<typeof CreateBody>): boolean {
  return capabilities.length > 0 || gateway !== undefined
}

function agentView(
  row: AgentRow,
  { gateways, origins }: { readonly gateways: ReadonlyMap<string, string>; readonly origins: Origins },
): z.infer<typeof AgentView> {
  return {
    agent_id: row.id,
    name: row.name,
    runtime: row.runtime,
    environment: row.environment,
    status: row.status,
    capabilities: row.capabilities,
    metadata: row.metadata,
    api_key_prefix: row.apiKeyPrefix,
    gateway: gateways.get(row.gatewayId ?? '') ?? null,
    last_seen_at: row.lastSeenAt,
    source: row.source,
    managed_by: row.managedBy,
    origin: origins.ofAgent(row),
    created_at: row.createdAt,
  }
}

function given(fields: z.infer<typeof PatchBody> extends infer B ? Partial<B> : never): AgentFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
