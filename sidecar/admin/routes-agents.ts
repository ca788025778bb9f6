import { ChaperoneError } from '../../core/errors.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { CommandReply } from '../../core/wire/gateway/commands.ts'
import { AgentDeregister, AgentRegister } from '../../core/wire/gateway/internal.ts'
import { type LocalAgentList, RegisterAgentReply } from '../../core/wire/gateway/internal-replies.ts'
import type { AgentEntry } from '../../core/wire/gateway/sync.ts'
import type { DeepReadonly, Ok } from '../../core/wire/schema/fields.ts'
import type { Commands } from '../control/commands.ts'
import type { AgentPorts } from './agent-ports.ts'
import { type ApiAnswer, ok } from './api-http.ts'
import { type ApiRoute, get, post } from './api-route.ts'
import type { PortKeys } from './port-keys.ts'

export type AgentRoutesDeps = {
  readonly commands: Commands
  readonly ports: AgentPorts
  readonly portKeys: PortKeys
  /** PEM of the CA certificate that clients have to trust. */
  readonly caPem: () => string
  readonly snapshot: () => Snapshot | null
  readonly activeByAgent: () => ReadonlyMap<string | null, number>
  /** Resolves once the snapshot contains the agent, or after a short timeout. */
  readonly untilKnown: (agent: string) => Promise<void>
}

export function agentRoutes(deps: AgentRoutesDeps): readonly ApiRoute[] {
  return [
    post('/internal/agents/register', AgentRegister, (input) => register(deps, input)),
    post('/internal/agents/deregister', AgentDeregister, (input) => deregister(deps, input)),
    get('/internal/agents', () => ok<LocalAgentList>({ agents: listAgents(deps) })),
  ]
}

/**
 * Registers an agent: creates it in the control plane, then opens its port. The key of the port is part of `proxy_url`.
 */
async function register(deps: AgentRoutesDeps, input: AgentRegister): Promise<ApiAnswer> {
  const reply = await deps.commands({ command: 'agents.register', input })
  if (reply.status !== 200) return reply
  const port = await deps.ports.open(input.name)
  await deps.untilKnown(input.name)
  const known = deps.snapshot()?.agentsByName.get(input.name)
  if (known === undefined) throw notKnown(input.name)
  return ok<RegisterAgentReply>({
    ok: true,
    agent: agentOf(reply) ?? { name: input.name },
    proxy_port: port,
    proxy_url: urlOf(deps, known, port),
    ca_pem: deps.caPem(),
  })
}

function agentOf({ body }: CommandReply): RegisterAgentReply['agent'] | undefined {
  return RegisterAgentReply.pick({ agent: true }).safeParse(body).data?.agent
}

/**
 * Returns the error for an agent that is registered in the control plane but not yet in the snapshot. The port key is
 * derived from the agent's entry in the snapshot.
 */
function notKnown(name: string): ChaperoneError {
  const detail = `The gateway has no configuration with agent "${name}" yet. Try again in a second.`
  return new ChaperoneError('not_ready', { detail, retryAfterS: 1 })
}

/** Deregisters an agent and closes its port. The port is also closed when the control plane has no such agent. */
async function deregister(deps: AgentRoutesDeps, input: { readonly name: string }): Promise<ApiAnswer> {
  const reply = await deps.commands({ command: 'agents.deregister', input })
  if (reply.status !== 200 && reply.status !== 404) return reply
  const hadPort = await deps.ports.close(input.name)
  return reply.status === 200 || hadPort ? ok<Ok>({ ok: true }) : reply
}

function listAgents(deps: AgentRoutesDeps): DeepReadonly<LocalAgentList['agents']> {
  const { snapshot, ports } = deps
  const active = deps.activeByAgent()
  const agents = [...(snapshot()?.agentsByName.values() ?? [])].filter(({ status }) => status === 'active')
  return agents.map((entry) => {
    const { id, name, runtime, environment, status } = entry
    const port = ports.portOf(name)
    return {
      agent_id: id,
      name,
      runtime,
      environment,
      status,
      proxy_port: port,
      proxy_url: port === null ? null : urlOf(deps, entry, port),
      active_connections: active.get(name) ?? 0,
    }
  })
}

function urlOf({ portKeys }: AgentRoutesDeps, agent: AgentEntry, port: number): string {
  return `http://${encodeURIComponent(agent.name)}:${portKeys.keyOf(agent)}@127.0.0.1:${port}`
}
