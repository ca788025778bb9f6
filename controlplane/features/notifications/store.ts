import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'

/**
 * PostgreSQL notification channel of the outbox. A transaction that writes to the outbox notifies this channel, and its
 * listeners read the outbox at once.
 */
export const OUTBOX_CHANNEL = 'chaperone_outbox'

export type OutboxKind = 'webhook' | 'chat_post' | 'chat_update' | 'chat_tell' | 'hold_notice'
export type OutboxState = 'pending' | 'delivered' | 'dead' | 'obsolete'

export type OutboxInput = {
  readonly eventId: string
  readonly orgId: string
  readonly kind: OutboxKind
  readonly orderKey: string
  /** Receiver of the message: limits of concurrency and rate apply per receiver. */
  readonly receiver: string
  readonly url: Sealed | null
  readonly event: string
  /** Id of the action request; for chat messages, id of the approval. */
  readonly subjectId: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** A message that this process has leased. `attempts` includes the attempt in progress. */
export type Leased = Omit<OutboxInput, 'orderKey'> & {
  readonly id: number
  readonly attempts: number
  readonly createdAt: Date
  /**
   * Time at which the lease began, by the clock of the database. The webhook of this attempt contains the same time.
   */
  readonly leasedAt: Date
}

const LEASED = `id, event_id as "eventId", org_id as "orgId", kind, receiver, url, event, subject_id as "subjectId", payload,
  attempts, created_at as "createdAt", clock_timestamp() as "leasedAt"`

/** Stores one message in the caller's transaction. */
export async function insertMessage(q: Query, row: OutboxInput): Promise<void> {
  await q.query(
    `insert into outbox (event_id, org_id, kind, order_key, receiver, url, event, subject_id, payload)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      row.eventId,
      row.orgId,
      row.kind,
      row.orderKey,
      row.receiver,
      row.url === null ? null : JSON.stringify(row.url),
      row.event,
      row.subjectId,
      JSON.stringify(row.payload),
    ],
  )
  await q.query('select pg_notify($1, $2)', [OUTBOX_CHANNEL, row.kind])
}

export type LeaseRequest = {
  /** Id of the process that takes the leases. */
  readonly by: string
  /** Time at which the leases begin; null for the clock of the database. Only tests set this field. */
  readonly now: Date | null
  readonly leaseS: number
  readonly perReceiver: number
  readonly limit: number
  /** Number of messages per receiver that this process is sending at the moment. */
  readonly busy: ReadonlyMap<string, number>
}

/**
 * Leases due messages: at most `perReceiver` per receiver, and no message that another process has leased. Messages
 * with the same `orderKey` are leased one after the other, oldest first. A message with an expired lease is due again,
 * because the process that held the lease has ended.
 */
export async function leaseDue(q: Query, request: LeaseRequest): Promise<readonly Leased[]> {
  const { rows } = await q.query<Leased>(
    `with at as (select coalesce($1::timestamptz, clock_timestamp()) as now),
     receivers as (select distinct receiver from outbox, at where state = 'pending' and next_attempt_at <= at.now
       and (leased_until is null or leased_until <= at.now)),
     due as (
       select picked.id from at, receivers
       left join unnest($5::text[], $6::int[]) as busy(receiver, count) on busy.receiver = receivers.receiver
       cross join lateral (
         select o.id from outbox o
         where o.receiver = receivers.receiver and o.state = 'pending' and o.next_attempt_at <= at.now
           and (o.leased_until is null or o.leased_until <= at.now)
           and not exists (select 1 from outbox earlier where earlier.order_key = o.order_key
             and earlier.id < o.id and earlier.state = 'pending')
         order by o.next_attempt_at, o.id limit greatest($4 - coalesce(busy.count, 0), 0)
         for update skip locked) picked
       limit $7)
     update outbox set leased_by = $2, attempts = attempts + 1,
       leased_until = (select now from at) + make_interval(secs => $3)
     where id in (select id from due) returning ${LEASED}`,
    [
      request.now,
      request.by,
      request.leaseS,
      request.perReceiver,
      [...request.busy.keys()],
      [...request.busy.values()],
      request.limit,
    ],
  )
  return rows
}

export type Ending = {
  readonly id: number
  readonly by: string
  readonly state: Exclude<OutboxState, 'pending'>
  readonly error: string | null
  readonly status: number | null
}

/**
 * Completes a message that this process has leased. A message that becomes obsolete after a failed attempt is stored
 * as dead with the error of this attempt, because it was never delivered. Returns false when another process holds
 * the lease.
 */
export async function endMessage(q: Query, ending: Ending): Promise<boolean> {
  const { rowCount } = await q.query(
    `update outbox set
       state = case when $3 = 'obsolete' and last_error is not null then 'dead' else $3 end,
       last_error = case when $3 = 'obsolete' then concat_ws('; then ', last_error, $4::text) else $4 end,
       last_status = case when $3 = 'obsolete' then coalesce(last_status, $5) else $5 end,
       leased_by = null, leased_until = null, ended_at = clock_timestamp()
     where id = $1 and leased_by = $2 and state = 'pending'`,
    [ending.id, ending.by, ending.state, ending.error, ending.status],
  )
  return rowCount === 1
}

export type Retry = {
  readonly id: number
  readonly by: string
  readonly now: Date | null
  readonly inS: number
  /**
   * False when the attempt does not count against the maximum number of attempts, because this process shuts down or
   * the receiver limits the rate.
   */
  readonly isCounted: boolean
  readonly error: string | null
  readonly status: number | null
}

export async function retryLater(q: Query, retry: Retry): Promise<void> {
  await q.query(
    `update outbox set leased_by = null, leased_until = null, last_error = $5, last_status = $6,
       attempts = attempts - $7, next_attempt_at = coalesce($3::timestamptz, clock_timestamp()) + make_interval(secs => $4)
     where id = $1 and leased_by = $2 and state = 'pending'`,
    [retry.id, retry.by, retry.now, retry.inS, retry.error, retry.status, retry.isCounted ? 0 : 1],
  )
}

/** Delays all messages of the receiver by `forS` seconds, as the receiver requested (`Retry-After`). */
export async function pauseReceiver(
  q: Query,
  { receiver, now, forS }: { readonly receiver: string; readonly now: Date | null; readonly forS: number },
): Promise<void> {
  await q.query(
    `update outbox set next_attempt_at = greatest(next_attempt_at,
       coalesce($2::timestamptz, clock_timestamp()) + make_interval(secs => $3))
     where receiver = $1 and state = 'pending' and leased_by is null`,
    [receiver, now, forS],
  )
}

export type OutboxEntry = {
  readonly eventId: string
  readonly kind: OutboxKind
  readonly event: string
  readonly subjectId: string
  /** Receiver of the message: limits of concurrency and rate apply per receiver. */
  readonly receiver: string
  readonly state: OutboxState
  readonly attempts: number
  readonly nextAttemptAt: Date | null
  readonly lastError: string | null
  readonly lastStatus: number | null
  readonly createdAt: Date
  readonly endedAt: Date | null
}

/** Lists messages, newest first, with the total number of matching messages. */
export async function listMessages(
  q: Query,
  orgId: string,
  filter: {
    readonly state?: OutboxState | undefined
    readonly subjectId?: string | undefined
    readonly limit: number
    readonly offset: number
  },
): Promise<{ readonly rows: readonly OutboxEntry[]; readonly total: number }> {
  const { rows } = await q.query<OutboxEntry & { total: number }>(
    `select event_id as "eventId", kind, event, subject_id as "subjectId", receiver, state, attempts,
       case when state = 'pending' then next_attempt_at end as "nextAttemptAt", last_error as "lastError",
       last_status as "lastStatus", created_at as "createdAt", ended_at as "endedAt", count(*) over ()::int as total
     from outbox where org_id = $1 and ($2::text is null or state = $2) and ($3::text is null or subject_id = $3)
     order by id desc limit $4 offset $5`,
    [orgId, filter.state ?? null, filter.subjectId ?? null, filter.limit, filter.offset],
  )
  return { rows: rows.map(({ total: _total, ...row }) => row), total: rows[0]?.total ?? 0 }
}

/**
 * Resets a dead message, so that its attempts begin again at once. Returns the previous state; undefined when the
 * message does not exist.
 */
export async function reviveMessage(
  q: Query,
  orgId: string,
  eventId: string,
): Promise<OutboxState | undefined> {
  const { rows } = await q.query<{ state: OutboxState }>(
    'select state from outbox where org_id = $1 and event_id = $2 for update',
    [orgId, eventId],
  )
  if (rows[0]?.state !== 'dead') return rows[0]?.state
  await q.query(
    `update outbox set state = 'pending', attempts = 0, next_attempt_at = clock_timestamp(), ended_at = null, last_error = null
     where event_id = $1`,
    [eventId],
  )
  await q.query('select pg_notify($1, $2)', [OUTBOX_CHANNEL, 'revived'])
  return 'dead'
}

/** Deletes expired messages and expired chat callbacks. Returns the number of deleted messages. */
export async function purgeMessages(
  q: Query,
  keep: { readonly deliveredDays: number; readonly deadDays: number; readonly callbackS: number },
): Promise<number> {
  await q.query(
    'delete from chat_callbacks where received_at < clock_timestamp() - make_interval(secs => $1)',
    [keep.callbackS],
  )
  const { rows } = await q.query<{ count: number }>(
    `with gone as (delete from outbox where id in (
       select id from outbox where state <> 'pending' and ended_at < clock_timestamp() -
         make_interval(days => case when state = 'dead' then $2::int else $1::int end) limit 10000) returning 1)
     select count(*)::int as count from gone`,
    [keep.deliveredDays, keep.deadDays],
  )
  return onlyRow(rows).count
}

/**
 * Stores a setting unless the setting exists. When two replicas create a secret at the same time, the first stored
 * secret stays.
 */
export async function insertSettingOnce(
  q: Query,
  orgId: string,
  setting: { readonly key: string; readonly value: Sealed },
): Promise<void> {
  await q.query(
    'insert into settings (org_id, key, value) values ($1, $2, $3) on conflict (org_id, key) do nothing',
    [orgId, setting.key, JSON.stringify(setting.value)],
  )
}
