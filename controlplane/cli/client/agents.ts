import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import type { AgentList as AgentListReply } from '../../../core/wire/agents.ts'
import type { LocalAgentList, RegisterAgentReply } from '../../../core/wire/gateway/internal-replies.ts'
import type { ManifestsReply } from '../../../core/wire/manifests.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { type ApiClient, readIfAllowed } from './client.ts'
import { replyFields } from './reply-fields.ts'

export const DEFAULT_AGENT = 'dev'

/**
 * An agent with a port on the local gateway. `proxy_url` contains the agent's key: `http://NAME:KEY@127.0.0.1:PORT`.
 */
export type LocalAgent = { readonly name: string; readonly proxy_url: string }

/** Returns the address of a proxy without the agent's key, for output that terminals and logs keep. */
export function proxyOrigin(proxyUrl: string): string {
  return new URL(proxyUrl).origin
}

/** Returns the agent's key, which the address of the agent's proxy contains. */
export function agentKeyOf(proxyUrl: string): string {
  return decodeURIComponent(new URL(proxyUrl).password)
}

const AgentRow = z.looseObject({
  agent_id: z.string(),
  name: z.string(),
  status: z.string(),
  running: z.looseObject({ pods: z.number() }).optional(),
})
const AgentList = replyFields<AgentListReply>()(z.object({ agents: z.array(AgentRow) }))
export type AgentRow = z.infer<typeof AgentRow>
const Registered = replyFields<RegisterAgentReply>()(z.looseObject({ proxy_url: z.string() }))
const RegisteredList = replyFields<LocalAgentList>()(
  z.object({
    agents: z.array(z.looseObject({ name: z.string(), proxy_url: z.string().nullish() })),
  }),
)
const InForce = replyFields<ManifestsReply>()(
  z.object({
    config_version: z.number(),
    in_force: z.record(z.string(), z.number().nullable()),
  }),
)

export async function listAgents(api: ApiClient): Promise<readonly AgentRow[]> {
  return AgentList.parse(await api.call('GET', '/api/dashboard/agents')).agents
}

/** Returns the agents; null when the user lacks the right to read agents. */
export async function listAgentsIfAllowed(api: ApiClient): Promise<readonly AgentRow[] | null> {
  const answer = await readIfAllowed(api, '/api/dashboard/agents')
  return answer === null ? null : AgentList.parse(answer).agents
}

/**
 * Creates the default agent in an installation without agents, so that the first governed request needs no dashboard.
 */
export async function ensureDefaultAgent(api: ApiClient): Promise<void> {
  if ((await listAgents(api)).length > 0) return
  const agent = { name: DEFAULT_AGENT, runtime: 'local', environment: 'development' }
  await api.call('POST', '/api/dashboard/agents', agent)
}

/**
 * Opens a port for the agent on the local gateway. After a restart, the gateway assigns the same port to the same name.
 */
export async function registerAgent(
  gateway: ApiClient,
  name: string,
  timeoutMs = 10_000,
): Promise<LocalAgent> {
  const answer = await untilAnswered(
    () => gateway.send('POST', '/internal/agents/register', { name }),
    timeoutMs,
  )
  if (answer.status !== 200) {
    throw new ChaperoneError('conflict', {
      detail: `The gateway did not open a port for agent ${name}, so requests of the agent cannot reach the gateway: ${String(answer.body['message'] ?? answer.body['error'])}`,
    })
  }
  return { name, proxy_url: Registered.parse(answer.body).proxy_url }
}

/** Returns agents with an open port on the gateway, sorted by name. */
export async function registeredAgents(gateway: ApiClient): Promise<LocalAgent[]> {
  const { agents } = RegisteredList.parse(await gateway.call('GET', '/internal/agents'))
  return agents
    .flatMap(({ name, proxy_url }) => (proxy_url ? [{ name, proxy_url }] : []))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Waits until the local gateway has applied the current configuration. Resolves to false after `timeoutMs`. */
export async function waitUntilApplied(
  api: ApiClient,
  gatewayName = 'default/local',
  timeoutMs = 15_000,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  const now = async () => InForce.parse(await api.call('GET', '/api/dashboard/manifests'))
  const first = await now()
  for (let seen = first; performance.now() < deadline; seen = await now()) {
    if ((seen.in_force[gatewayName] ?? -1) >= first.config_version) return true
    await sleep(25)
  }
  return false
}

/**
 * Sends a request and repeats it after a 5xx response, because a gateway that has just started may not have connected
 * to its control plane.
 */
async function untilAnswered(send: () => ReturnType<ApiClient['send']>, timeoutMs: number) {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const answer = await send()
    if (answer.status < 500 || performance.now() > deadline) return answer
    await sleep(50)
  }
}
