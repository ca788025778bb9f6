import { ChaperoneError } from '../../../core/errors.ts'
import type { CommandReplies } from '../../../core/wire/gateway/commands.ts'
import { AgentDeregister, AgentRegister } from '../../../core/wire/gateway/internal.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import { newId } from '../../crypto/ids.ts'
import { isAgentKeyForm, keyPrefix, matchesHash } from '../../crypto/tokens.ts'
import type { Query } from '../../db/query.ts'
import { type AgentRow, findAgentByName } from '../agents/rows.ts'
import { assertPlainName, bindAgent, registerAgent } from '../agents/service.ts'
import type { AgentInput } from '../agents/store.ts'
import { gatewayActor } from '../audit/actor.ts'
import { mayName } from '../gateways/rows.ts'
import { type CommandDeps, type CommandGateway, type CommandHandlers, parsed } from './context.ts'

export function createAgentCommands(
  deps: CommandDeps,
): CommandHandlers<'agents.register' | 'agents.deregister'> {
  return {
    'agents.register': async (gateway, input) => {
      const request = parsed(AgentRegister, input)
      const row = await deps.db.tx((q) => register(q, deps.orgId, gateway, request))
      return { ok: true, agent: agentView(row) }
    },
    'agents.deregister': async (gateway, input) => {
      const { name } = parsed(AgentDeregister, input)
      const row = await findAgentByName(deps.db, name)
      if (row === undefined || !isOurs(row, gateway)) throw notFound(name)
      return { ok: true, agent: agentView(row) }
    },
  }
}

/**
 * Returns the agent with this name, or creates the agent when it does not exist. An agent without a gateway is bound to
 * this gateway.
 */
async function register(
  q: Query,
  orgId: string,
  gateway: CommandGateway,
  request: AgentRegister,
): Promise<AgentRow> {
  const known = await findAgentByName(q, request.name)
  if (known?.gatewayId !== gateway.gatewayId) refuseNamespace(request.name, gateway)
  if (known === undefined) return create(q, orgId, gateway, request)
  if (!isOurs(known, gateway)) {
    throw new ChaperoneError('conflict', {
      detail: `The agent ${request.name} belongs to another gateway. Move the agent to this gateway, or choose another name.`,
    })
  }
  checkIdentity(known, request)
  if (known.gatewayId !== null) return known
  return bindAgent(q, known, { gatewayId: gateway.gatewayId }, null)
}

/**
 * Throws `forbidden` for an agent of another namespace, because a gateway may neither bind nor create such an agent.
 */
function refuseNamespace(agent: string, { name }: CommandGateway): void {
  if (mayName(name, agent)) return
  throw new ChaperoneError('forbidden', {
    detail: `The gateway ${name} may register agents of its own namespace only, and ${agent} is of another namespace. Choose a name in the namespace of the gateway.`,
  })
}

async function create(
  q: Query,
  orgId: string,
  { gatewayId, name: gateway }: CommandGateway,
  { name, agent_id, api_key }: AgentRegister,
): Promise<AgentRow> {
  if (agent_id !== undefined) throw notFound(agent_id)
  assertPlainName(name)
  if (api_key !== undefined && !isAgentKeyForm(api_key)) throw weakKey()
  const row: AgentInput = {
    id: newId('agent'),
    orgId,
    name,
    runtime: '',
    environment: 'development',
    status: 'active',
    capabilities: [],
    metadata: {},
    apiKeyPrefix: api_key === undefined ? null : keyPrefix(api_key),
    apiKeySha256: api_key === undefined ? null : sha256(api_key),
    gatewayId,
    source: 'api',
    managedBy: null,
    origin: 'command_line',
  }
  return registerAgent(q, row, { actor: gatewayActor(gateway), details: { name, gateway } })
}

/**
 * Throws `conflict` or `forbidden` when the given id or key does not belong to the agent. Otherwise a caller could
 * register under the name of another agent.
 */
function checkIdentity(row: AgentRow, { agent_id, api_key }: AgentRegister): void {
  if (agent_id !== undefined && agent_id !== row.id) {
    throw new ChaperoneError('conflict', {
      detail: `The agent ${row.name} has the id ${row.id}, not ${agent_id}. Correct agent_id, or leave it out.`,
    })
  }
  if (api_key !== undefined && !matchesHash(api_key, row.apiKeySha256)) {
    throw new ChaperoneError('forbidden', {
      detail: `The given api_key is not the key of the agent ${row.name}. Send its key, or leave api_key out.`,
    })
  }
}

/**
 * Returns the error for a key that is too short. A short key could be found from its prefix, which is stored and shown,
 * or from its stored hash.
 */
function weakKey(): ChaperoneError {
  const detail =
    'api_key: must be svc_live_ or svc_test_ followed by at least 43 letters and digits; leave api_key out, and rotate the key of the agent in the dashboard to get a key'
  return new ChaperoneError('validation', { detail, extra: { details: detail } })
}

function isOurs(row: AgentRow, { gatewayId }: CommandGateway): boolean {
  return row.gatewayId === null || row.gatewayId === gatewayId
}

function notFound(name: string): ChaperoneError {
  return new ChaperoneError('not_found', {
    error: 'Agent not found',
    detail: `There is no agent ${name}. GET /internal/agents lists the agents of this gateway.`,
  })
}

function agentView(row: AgentRow): CommandReplies['agents.register']['agent'] {
  const { id, name, runtime, environment, status } = row
  return { agent_id: id, name, runtime, environment, status }
}
