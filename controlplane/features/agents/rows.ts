import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import type { Query } from '../../db/query.ts'
import type { Source } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'

export type AgentStatus = 'active' | 'suspended' | 'revoked'

export type AgentRow = {
  readonly id: string
  readonly orgId: string
  readonly name: string
  readonly runtime: string
  readonly environment: string
  readonly status: AgentStatus
  readonly capabilities: readonly string[]
  readonly metadata: Readonly<Record<string, unknown>>
  readonly apiKeyPrefix: string | null
  readonly apiKeySha256: Buffer | null
  readonly gatewayId: string | null
  readonly source: Source
  readonly managedBy: string | null
  /**
   * Origin of the row: `dashboard`, `command_line` or `built_in`. Null for an agent that was created for the
   * ServiceAccount of a pod.
   */
  readonly origin: RowOrigin | null
  readonly lastSeenAt: Date | null
  readonly createdAt: Date
}

export const COLUMNS = `id, org_id as "orgId", name, runtime, environment, status, capabilities, metadata,
  api_key_prefix as "apiKeyPrefix", api_key_sha256 as "apiKeySha256", gateway_id as "gatewayId", source,
  managed_by as "managedBy", origin, last_seen_at as "lastSeenAt", created_at as "createdAt"`

/** Returns all agents in the order of their names, including revoked agents. */
export async function listAgents(q: Query): Promise<readonly AgentRow[]> {
  const { rows } = await q.query<AgentRow>(`select ${COLUMNS} from agents order by name, created_at, id`, [])
  return rows
}

export async function listAgentsIn(q: ScopedQuery): Promise<readonly AgentRow[]> {
  return q.rows<AgentRow>(
    [],
    (within) => `select ${COLUMNS} from agents where ${within.name('name')} order by name, created_at, id`,
  )
}

/**
 * SQL condition for an agent that has ended: all its workloads are bare pods, Jobs or bare Sandboxes, and none of
 * their pods exists any more. An agent with any other workload, such as a Deployment, never counts as ended, because
 * the workload can create new pods.
 */
export const HAS_ENDED = `source = 'kubernetes' and status = 'active'
  and jsonb_array_length(coalesce(metadata->'workloads', '[]')) > 0
  and not exists (select from jsonb_array_elements_text(metadata->'workloads') as w where w !~ '^(Pod|Job|Sandbox) ')
  and not exists (select from pod_identities p where p.agent = agents.name and p.deleted_at is null)`

/** Lists agents as `listAgentsIn`, without those that have ended. */
export async function listPresentAgentsIn(q: ScopedQuery): Promise<readonly AgentRow[]> {
  return q.rows<AgentRow>(
    [],
    (within) =>
      `select ${COLUMNS} from agents where ${within.name('name')} and not (${HAS_ENDED}) order by name, created_at, id`,
  )
}

/** Returns the agent with this name in the namespaces of the caller. Ignores revoked agents. */
export async function findAgentIn(q: ScopedQuery, name: string): Promise<AgentRow | undefined> {
  const select = `select ${COLUMNS} from agents where name = $1 and status <> 'revoked'`
  return (await q.rows<AgentRow>([name], (within) => `${select} and ${within.name('name')}`))[0]
}

/** Returns the agent with this name. Ignores revoked agents: revocation frees the name for a new agent. */
export async function findAgentByName(q: Query, name: string): Promise<AgentRow | undefined> {
  const { rows } = await q.query<AgentRow>(
    `select ${COLUMNS} from agents where name = $1 and status <> 'revoked'`,
    [name],
  )
  return rows[0]
}

/** Returns every agent that has or had this name, including revoked agents, oldest first. */
export async function listAgentsNamed(q: Query, name: string): Promise<readonly AgentRow[]> {
  const { rows } = await q.query<AgentRow>(
    `select ${COLUMNS} from agents where name = $1 order by created_at, id`,
    [name],
  )
  return rows
}

/**
 * Built-in agent of the demo actions. The agent has no key and no other credential, so that no caller can authenticate
 * as this agent.
 */
export const DEMO_AGENT = {
  name: 'chaperone-demo',
  runtime: 'built-in',
  environment: 'development',
  managedBy: 'demo-action',
} as const

export function isDemoAgent(row: { readonly source: string; readonly managedBy: string | null }): boolean {
  return row.source === 'api' && row.managedBy === DEMO_AGENT.managedBy
}

/** Returns the ids of the agents with these names. Revoked agents are omitted. */
export async function findAgentIds(q: Query, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await q.query<{ id: string; name: string }>(
    "select id, name from agents where name = any($1::text[]) and status <> 'revoked'",
    [names],
  )
  return new Map(rows.map(({ id, name }) => [name, id]))
}
