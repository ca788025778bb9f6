import { normaliseScope } from '../../../core/decision/kill-switch/kill-switch.ts'
import type { Query } from '../../db/query.ts'
import { KILL_PAYLOAD, SYNC_CHANNEL } from '../../db/sync-channel.ts'

export type KillInput = {
  readonly orgId: string
  readonly scope: string
  readonly source: string
  readonly reason: string
  readonly activatedBy: string
}

/**
 * Marks the announcement of a kill switch as settled (stored or lifted). An announcement is broadcast before the kill
 * switch is stored. Returns false when the announcement was already settled and must not be stored again. Deletes
 * marks after 90 days, because no replica adopts announcements of this age.
 */
export async function settleAnnouncement(q: Query, id: string): Promise<boolean> {
  const { rowCount } = await q.query(
    `with old as (
       delete from kill_announcements where settled_at < clock_timestamp() - interval '90 days'
     )
     insert into kill_announcements (id) values ($1) on conflict (id) do nothing`,
    [id],
  )
  return rowCount > 0
}

/**
 * Stores a kill switch for a scope and a source. Returns true when the source had no kill switch with this scope and
 * reason.
 */
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

/** Lifts the kill switch of this source for the scope. Returns true when the source had one. */
export async function releaseKillSwitch(
  q: Query,
  row: Pick<KillInput, 'orgId' | 'scope' | 'source'>,
): Promise<boolean> {
  const { rowCount } = await q.query(
    'delete from kill_switches where org_id = $1 and scope = any($2::text[]) and source = $3',
    [row.orgId, await spellingsOf(q, row.orgId, row.scope), row.source],
  )
  if (rowCount > 0) await notifyKill(q)
  return rowCount > 0
}

/**
 * Lifts the kill switches of all sources for a scope, including rows with another spelling of the scope. Returns the
 * sources.
 */
export async function releaseKillScope(q: Query, orgId: string, scope: string): Promise<string[]> {
  const { rows } = await q.query<{ source: string }>(
    'delete from kill_switches where org_id = $1 and scope = any($2::text[]) returning source',
    [orgId, await spellingsOf(q, orgId, scope)],
  )
  if (rows.length > 0) await notifyKill(q)
  return rows.map((row) => row.source)
}

/**
 * Returns the spellings of a scope in stored rows. A row of an older version, or of a restored backup, may have another
 * spelling.
 */
async function spellingsOf(q: Query, orgId: string, scope: string): Promise<string[]> {
  const { rows } = await q.query<{ scope: string }>(
    'select distinct scope from kill_switches where org_id = $1',
    [orgId],
  )
  const wanted = normaliseScope(scope)
  return rows.map((row) => row.scope).filter((stored) => normaliseScope(stored) === wanted)
}

/** Lists the scopes of the kill switches of one source. */
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
