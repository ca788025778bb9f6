import { normaliseScope } from '../../../core/decision/kill-switch/kill-switch.ts'
import type { KillAnnouncement, KillEntry, StateOrder } from '../../../core/wire/gateway/kill.ts'
import type { Query } from '../../db/query.ts'

/** Lists the stored kill switches, oldest first. A kill switch stays in force until it is lifted. */
export async function listKillSwitches(q: Query): Promise<readonly KillEntry[]> {
  return (await readKillSwitches(q)).entries
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
 * Returns those ids in the list that belong to kill switches which were stored or lifted after their announcement to
 * the gateways.
 */
export async function listSettled(q: Query, ids: readonly string[]): Promise<readonly string[]> {
  const { rows } = await q.query<{ id: string }>(
    'select id from kill_announcements where id = any($1::text[])',
    [ids],
  )
  return rows.map(({ id }) => id)
}

/**
 * Returns the scope and source of the kill switches in the list that the audit log shows as lifted after their
 * activation. `marginS`: number of seconds after `since` in which lifts are ignored, because `since` may come from a
 * clock other than the clock of the database.
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
 * Returns the announcements in the list (kill switches that gateways received before the database) whose scope was
 * lifted for their source after the announcement. These announcements must not be stored.
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
