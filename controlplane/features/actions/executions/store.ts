import type { ResultBody } from '../../../../core/wire/gateway/sync.ts'
import type { Query } from '../../../db/query.ts'
import { onlyRow } from '../../../db/rows.ts'

/** Key of the advisory lock: an arbitrary number that is the same in all replicas. */
const LOCK = 7_245_118_021

export type OpenExecution = {
  readonly orderId: string
  readonly actId: string
  /** Id of the gateway that executes the action. Null for the gateway at the setting `gateway_url`. */
  readonly gatewayId: string | null
}

type NewExecution = OpenExecution & {
  /**
   * Fingerprint of a request through the gateway at `gateway_url`. Null for an execution order, because the order
   * contains the id of the action.
   */
  readonly requestFingerprint: string | null
  /** Id of the approval of the action. The approval may release one hold of this execution. */
  readonly approvalId: string | null
}

/**
 * Stores the execution. Must be called before the decision token is used, so that a crash at any later time leaves a
 * row.
 */
export async function openExecution(q: Query, row: NewExecution): Promise<void> {
  await q.query(
    'insert into executions (order_id, act_id, gateway_id, request_fingerprint, approval_id) values ($1, $2, $3, $4, $5)',
    [row.orderId, row.actId, row.gatewayId, row.requestFingerprint, row.approvalId],
  )
}

export type RunningExecution = {
  readonly orderId: string
  readonly actId: string
  readonly approvalId: string | null
  /** True when the approval has already released a hold of this execution. */
  readonly isReleased: boolean
}

/**
 * Finds and locks the running execution to which a held request belongs. The execution is found by its action when
 * the gateway received an execution order, otherwise by the request fingerprint.
 */
export async function findExecution(
  q: Query,
  key: {
    readonly agent: string
    readonly actId: string
    readonly gatewayId: string
    /**
     * Fingerprint of the held request; null when the gateway sends none. Without a fingerprint, the execution is found
     * by its action only.
     */
    readonly requestFingerprint: string | null
  },
): Promise<RunningExecution | undefined> {
  const { rows } = await q.query<RunningExecution>(
    `select e.order_id as "orderId", e.act_id as "actId", e.approval_id as "approvalId",
       e.released_at is not null as "isReleased"
     from executions e join nonces n on n.act_id = e.act_id
       join action_requests r on r.id = e.act_id join agents g on g.id = r.agent_id and g.name = $4
     where (e.request_fingerprint = $1 or e.act_id = $2 and e.gateway_id = $3)
       and n.used_by = 'execute' and n.used_at > clock_timestamp() - interval '40 seconds'
     order by e.started_at limit 1 for update of e`,
    [key.requestFingerprint, key.actId, key.gatewayId, key.agent],
  )
  return rows[0]
}

export async function markReleased(q: Query, orderId: string): Promise<void> {
  await q.query('update executions set released_at = clock_timestamp() where order_id = $1', [orderId])
}

export async function closeExecution(q: Query, orderId: string): Promise<void> {
  await q.query('delete from executions where order_id = $1', [orderId])
}

export type Interrupted = OpenExecution & {
  readonly orgId: string
  readonly agentId: string
  readonly actionType: string
  /**
   * Result that arrived at a replica other than the replica that sent the execution order; null when no such result
   * arrived.
   */
  readonly result: ResultBody | null
}

/**
 * Takes at most 200 executions that started more than `graceS` seconds ago by the clock of the database, because the
 * replica of such an execution has crashed. Returns the executions whose action has no outcome, oldest first, and
 * deletes the other executions. Returns none while another replica holds the lock. Must run in the transaction that
 * stores the outcomes.
 */
export async function takeInterrupted(q: Query, graceS: number): Promise<readonly Interrupted[]> {
  const { rows: locks } = await q.query<{ taken: boolean }>('select pg_try_advisory_xact_lock($1) as taken', [
    LOCK,
  ])
  if (!onlyRow(locks).taken) return []
  const { rows } = await q.query<Interrupted & { isWaiting: boolean }>(
    `with old as (
       select e.order_id from executions e left join nonces n on n.act_id = e.act_id
       where e.started_at < clock_timestamp() - make_interval(secs => $1)
         -- A later attempt may be using the same token again.
         and coalesce(n.used_at < clock_timestamp() - make_interval(secs => $1), true)
       order by e.started_at limit 200 for update of e skip locked
     ), taken as (
       delete from executions where order_id in (select order_id from old)
       returning order_id, act_id, gateway_id, started_at
     )
     select t.order_id as "orderId", t.act_id as "actId", gateway_id as "gatewayId", a.org_id as "orgId",
       a.agent_id as "agentId", a.action_spec->>'type' as "actionType", r.result,
       coalesce(a.status = 'allowed' and n.used_by = 'execute', false) as "isWaiting"
     from taken t left join action_requests a on a.id = t.act_id left join nonces n on n.act_id = t.act_id
       left join execution_results r on r.order_id = t.order_id
     order by t.started_at`,
    [graceS],
  )
  return rows.filter((row) => row.isWaiting).map(({ isWaiting: _isWaiting, ...row }) => row)
}
