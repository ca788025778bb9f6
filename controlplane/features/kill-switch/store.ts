import { normaliseScope } from '../../../core/decision/kill-switch/kill-switch.ts'
import type { KillAnnouncement, KillEntry, StateOrder } from '../../../core/wire/gateway/kill.ts'
import type { Query } from '../../db/query.ts'
import { SYNC_CHANNEL } from '../../db/sync-channel.ts'

export const KILL_PAYLOAD = 'kill'

export type KillInput = {
  readonly orgId: string
  readonly scope: string
  readonly source: string
  readonly reason: string
  readonly activatedBy: string
}

/** The stored kill switches, and the position of this kill state in the total order of kill states. */
export type StoredKills = { readonly order: StateOrder; readonly entries: readonly KillEntry[] }

export async function readKillSwitches(q: Query): Promise<StoredKills> {
  const { rows } = await q.query<Joined>(
    `select o.epoch, o.kill_revision as revision, k.scope, k.source, k.reason, k.since
     from state_order o left join kill_switches k on true order by k.since, k.source, k.scope`,
    [],
  )
  const { epoch, revision } = firstRow(rows)
  const entries = rows.flatMap(({ scope, source, reason, since }) =>
    since === null ? [] : [{ scope, source, reason, since: since.toISOString() }],
  )
  return { order: { epoch, revision }, entries }
}

type Joined = StateOrder & Omit<KillEntry, 'since'> & { readonly since: Date | null }

function firstRow(rows: readonly Joined[]): Joined {
  const [row] = rows
  if (row !== undefined) return row
  throw new Error('the table state_order has lost its row: restore the database from a backup')
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

/** Returns those ids in the list whose announcements are settled: stored or lifted. */
export async function listSettled(q: Query, ids: readonly string[]): Promise<readonly string[]> {
  const { rows } = await q.query<{ id: string }>(
    'select id from kill_announcements where id = any($1::text[])',
    [ids],
  )
  return rows.map(({ id }) => id)
}

/**
 * Returns the scope and source of those kill switches in the list that were lifted after their activation, as the
 * audit log shows. `marginS`: number of seconds after `since` in which lifts are ignored, because `since` may come
 * from a clock other than the clock of the database.
 */
export async function listLifted(
  q: Query,
  entries: readonly KillEntry[],
  marginS: number = 0,
): Promise<readonly Pick<KillEntry, 'scope' | 'source'>[]> {
  const { rows } = await q.query<Pick<KillEntry, 'scope' | 'source'>>(
    `select k.scope, k.source from jsonb_to_recordset($1::jsonb) as k(scope text, source text, since timestamptz)
     where exists (
       select from audit_events e where e.event_type = 'kill_switch.deactivated'
         and e.created_at >= k.since + make_interval(secs => $2)
         and e.details->>'scope' = k.scope and e.details->'sources' @> to_jsonb(k.source)
     )`,
    [JSON.stringify(entries), marginS],
  )
  return rows
}

/** Maximum difference between the clocks of a replica and of the database, in seconds. */
const CLOCK_MARGIN_S = 10

/**
 * Returns the announcements in the list whose scope was lifted for their source after the announcement. These
 * announcements must not be stored.
 */
export async function listLiftedSince(
  q: Query,
  announcements: readonly KillAnnouncement[],
): Promise<readonly KillAnnouncement[]> {
  const keyOf = ({ scope, source }: Pick<KillEntry, 'scope' | 'source'>) =>
    JSON.stringify([normaliseScope(scope), source])
  const entries = announcements.map(({ entry }) => ({ ...entry, scope: normaliseScope(entry.scope) }))
  const lifted = new Set((await listLifted(q, entries, CLOCK_MARGIN_S)).map(keyOf))
  return announcements.filter(({ entry }) => lifted.has(keyOf(entry)))
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
