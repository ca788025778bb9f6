import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow, type Source } from '../../db/rows.ts'
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
  /** Where the agent was created; null for an agent that was created for the ServiceAccount of a pod. */
  readonly origin: RowOrigin | null
  readonly lastSeenAt: Date | null
  readonly createdAt: Date
}

export type AgentInput = Omit<AgentRow, 'lastSeenAt' | 'createdAt' | 'origin'> &
  Partial<Pick<AgentRow, 'origin'>>
export type AgentChanges = Partial<Omit<AgentInput, 'id' | 'orgId'>>

const COLUMNS = `id, org_id as "orgId", name, runtime, environment, status, capabilities, metadata,
  api_key_prefix as "apiKeyPrefix", api_key_sha256 as "apiKeySha256", gateway_id as "gatewayId", source,
  managed_by as "managedBy", origin, last_seen_at as "lastSeenAt", created_at as "createdAt"`

/** Returns all agents by name, including revoked ones. */
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

/** Returns the unrevoked agent with the name. */
export async function findAgentIn(q: ScopedQuery, name: string): Promise<AgentRow | undefined> {
  const select = `select ${COLUMNS} from agents where name = $1 and status <> 'revoked'`
  return (await q.rows<AgentRow>([name], (within) => `${select} and ${within.name('name')}`))[0]
}

async function getAgent(q: Query, id: string): Promise<AgentRow | undefined> {
  const { rows } = await q.query<AgentRow>(`select ${COLUMNS} from agents where id = $1`, [id])
  return rows[0]
}

/** Locks the agent until the transaction ends, so that changes of one agent run one after the other. */
export async function lockAgent(q: Query, id: string): Promise<AgentRow | undefined> {
  const { rows } = await q.query<AgentRow>(`select ${COLUMNS} from agents where id = $1 for update`, [id])
  return rows[0]
}

/** Returns the unrevoked agent with the name; revocation releases the name. */
export async function findAgentByName(q: Query, name: string): Promise<AgentRow | undefined> {
  const { rows } = await q.query<AgentRow>(
    `select ${COLUMNS} from agents where name = $1 and status <> 'revoked'`,
    [name],
  )
  return rows[0]
}

/** Returns every agent that bears or bore the name, oldest first. */
export async function listAgentsNamed(q: Query, name: string): Promise<readonly AgentRow[]> {
  const { rows } = await q.query<AgentRow>(
    `select ${COLUMNS} from agents where name = $1 order by created_at, id`,
    [name],
  )
  return rows
}

export async function insertAgent(q: Query, row: AgentInput): Promise<AgentRow> {
  const { rows } = await q.query<AgentRow>(
    `insert into agents (id, org_id, ${WRITABLE.map((field) => field.column).join(', ')})
     values ($1, $2, ${WRITABLE.map((_, index) => `$${index + 3}`).join(', ')}) returning ${COLUMNS}`,
    [row.id, row.orgId, ...WRITABLE.map((field) => stored(field.name, row[field.name]))],
  )
  return onlyRow(rows)
}

/** Writes the named fields. Returns undefined when there is no such agent. */
export async function updateAgent(
  q: Query,
  id: string,
  changes: AgentChanges,
): Promise<AgentRow | undefined> {
  const fields = WRITABLE.filter((field) => changes[field.name] !== undefined)
  if (fields.length === 0) return getAgent(q, id)
  const sets = fields.map((field, index) => `${field.column} = $${index + 2}`)
  const { rows } = await q.query<AgentRow>(
    `update agents set ${sets.join(', ')} where id = $1 returning ${COLUMNS}`,
    [id, ...fields.map((field) => stored(field.name, changes[field.name]))],
  )
  return rows[0]
}

/** Sets the last-seen time of these agents to now, at most once a minute each. */
export async function touchAgents(q: Query, names: readonly string[]): Promise<void> {
  await q.query(
    `update agents set last_seen_at = now() where name = any($1::text[]) and status <> 'revoked'
       and (last_seen_at is null or last_seen_at < now() - interval '1 minute')`,
    [names],
  )
}

const WRITABLE = [
  { name: 'name', column: 'name' },
  { name: 'runtime', column: 'runtime' },
  { name: 'environment', column: 'environment' },
  { name: 'status', column: 'status' },
  { name: 'capabilities', column: 'capabilities' },
  { name: 'metadata', column: 'metadata' },
  { name: 'apiKeyPrefix', column: 'api_key_prefix' },
  { name: 'apiKeySha256', column: 'api_key_sha256' },
  { name: 'gatewayId', column: 'gateway_id' },
  { name: 'source', column: 'source' },
  { name: 'managedBy', column: 'managed_by' },
  { name: 'origin', column: 'origin' },
] as const satisfies readonly { name: keyof AgentChanges; column: string }[]

function stored(name: string, value: unknown): unknown {
  return name === 'metadata' ? JSON.stringify(value) : value
}
