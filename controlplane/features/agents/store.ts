import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import { type AgentRow, COLUMNS } from './rows.ts'

export type AgentInput = Omit<AgentRow, 'lastSeenAt' | 'createdAt' | 'origin'> &
  Partial<Pick<AgentRow, 'origin'>>

export type AgentChanges = Partial<Omit<AgentInput, 'id' | 'orgId'>>

async function getAgent(q: Query, id: string): Promise<AgentRow | undefined> {
  const { rows } = await q.query<AgentRow>(`select ${COLUMNS} from agents where id = $1`, [id])
  return rows[0]
}

/** Locks the agent row until the transaction ends, so that changes of one agent are serialised. */
export async function lockAgent(q: Query, id: string): Promise<AgentRow | undefined> {
  const { rows } = await q.query<AgentRow>(`select ${COLUMNS} from agents where id = $1 for update`, [id])
  return rows[0]
}

export async function insertAgent(q: Query, row: AgentInput): Promise<AgentRow> {
  const { rows } = await q.query<AgentRow>(
    `insert into agents (id, org_id, ${WRITABLE.map((field) => field.column).join(', ')})
     values ($1, $2, ${WRITABLE.map((_, index) => `$${index + 3}`).join(', ')}) returning ${COLUMNS}`,
    [row.id, row.orgId, ...WRITABLE.map((field) => stored(field.name, row[field.name]))],
  )
  return onlyRow(rows)
}

/** Updates the fields that `changes` contains. Returns undefined when the agent does not exist. */
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

/** Sets the last-seen time of the named agents to the current time, at most once a minute per agent. */
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
