import type { KillEntry } from '../../core/wire/kill.ts'
import type { Query } from './query.ts'

/** Tells every replica at commit that stops (`kill`) or one approval (its id) changed. */
export const SYNC_CHANNEL = 'chaperone_sync'
export const KILL_PAYLOAD = 'kill'

export type KillInput = {
  readonly orgId: string
  readonly scope: string
  readonly source: string
  readonly reason: string
  readonly activatedBy: string
}

/** Every latched stop, oldest first. */
export async function listKillSwitches(q: Query): Promise<KillEntry[]> {
  const { rows } = await q.query<Omit<KillEntry, 'since'> & { since: Date }>(
    'select scope, source, reason, since from kill_switches order by since, source, scope',
    [],
  )
  return rows.map((row) => ({ ...row, since: row.since.toISOString() }))
}

/** True when this source had not latched this scope with this reason before. */
export async function latchKillSwitch(q: Query, row: KillInput): Promise<boolean> {
  const { rowCount } = await q.query(
    `insert into kill_switches (org_id, scope, source, reason, activated_by) values ($1, $2, $3, $4, $5)
     on conflict (org_id, scope, source) do update set reason = excluded.reason, activated_by = excluded.activated_by
       where kill_switches.reason <> excluded.reason`,
    [row.orgId, row.scope, row.source, row.reason, row.activatedBy],
  )
  await notifyKill(q)
  return rowCount > 0
}

/** Lifts what this source latched under this scope; true when there was something. */
export async function releaseKillSwitch(
  q: Query,
  row: Pick<KillInput, 'orgId' | 'scope' | 'source'>,
): Promise<boolean> {
  const { rowCount } = await q.query(
    'delete from kill_switches where org_id = $1 and scope = $2 and source = $3',
    [row.orgId, row.scope, row.source],
  )
  if (rowCount > 0) await notifyKill(q)
  return rowCount > 0
}

/** Lifts a scope whatever source latched it; answers the sources. */
export async function releaseKillScope(q: Query, orgId: string, scope: string): Promise<string[]> {
  const { rows } = await q.query<{ source: string }>(
    'delete from kill_switches where org_id = $1 and scope = $2 returning source',
    [orgId, scope],
  )
  if (rows.length > 0) await notifyKill(q)
  return rows.map((row) => row.source)
}

/** The scopes that one source has latched. */
export async function scopesOfSource(q: Query, orgId: string, source: string): Promise<string[]> {
  const { rows } = await q.query<{ scope: string }>(
    'select scope from kill_switches where org_id = $1 and source = $2 order by scope',
    [orgId, source],
  )
  return rows.map((row) => row.scope)
}

async function notifyKill(q: Query): Promise<void> {
  await q.query('select pg_notify($1, $2)', [SYNC_CHANNEL, KILL_PAYLOAD])
}
