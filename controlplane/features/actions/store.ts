import type { ActionSpec } from '../../../core/action/spec.ts'
import type { ActionRequestState } from '../../../core/state/action-request.ts'
import { TOKEN_LIFE_S } from '../../../core/token.ts'
import type { DecisionView } from '../../../core/wire/v1.ts'
import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'
import { type AuditEventInput, insertionOf } from '../audit/store.ts'

export type NewAction = {
  readonly id: string
  readonly orgId: string
  readonly agentId: string
  readonly agent: string
  readonly status: ActionRequestState
  readonly spec: ActionSpec
  readonly decision: DecisionView
  readonly connector: string
  readonly batchId: string | null
  readonly approvalId: string | null
  readonly webhook: Sealed | null
  /** Version of the configuration under which the action was decided. */
  readonly rulesVersion: number
  /** Id (`jti`) and key id (`kid`) of the decision token. Null unless the action is allowed without an approval. */
  readonly token: { readonly jti: string; readonly kid: string } | null
  /** Audit events of the action, in the order of the audit log. */
  readonly events: readonly AuditEventInput[]
}

export type StoredAction = {
  readonly id: string
  readonly createdAt: Date
  /** Time when the decision token was issued, in Unix seconds by the clock of the database; null without a token. */
  readonly issuedAt: number | null
}

/**
 * Stores actions, their nonces and their audit events in one statement. Omits actions that were decided under outdated
 * rules, so that the caller decides those actions again.
 */
export async function insertActions(
  q: Query,
  actions: readonly NewAction[],
): Promise<readonly StoredAction[]> {
  const { rows } = await q.query<StoredAction>(INSERT, [
    JSON.stringify(
      actions.map(({ spec, decision, ...action }) => ({
        ...action,
        // The spec and the decision are stored as text, because `jsonb` would reorder the keys.
        spec: JSON.stringify(spec),
        decision: JSON.stringify(decision),
      })),
    ),
  ])
  return rows
}

const INSERT = `with list as (
    select e, position from jsonb_array_elements($1::jsonb) with ordinality as l(e, position), config_version c
    where (e->>'rulesVersion')::bigint = c.version
  ), stored as (
    insert into action_requests (id, org_id, agent_id, agent, status, action_spec, decision, connector, batch_id,
      approval_id, webhook)
    select e->>'id', e->>'orgId', e->>'agentId', e->>'agent', e->>'status', (e->>'spec')::json,
      (e->>'decision')::json, e->>'connector', e->>'batchId', e->>'approvalId',
      nullif(e->'webhook', 'null')
    from list order by position returning id, created_at
  ), issued as (
    insert into nonces (jti, act_id, kid, issued_at, expires_at)
    select e->'token'->>'jti', e->>'id', e->'token'->>'kid', date_trunc('second', statement_timestamp()),
      date_trunc('second', statement_timestamp()) + interval '${TOKEN_LIFE_S} seconds'
    from list where e->'token'->>'jti' is not null returning act_id, issued_at
  ), events as (
    select event as e, position, place from list, jsonb_array_elements(e->'events') with ordinality as l(event, place)
  ), logged as (${insertionOf('events', 'position, place')})
  select id, created_at as "createdAt", extract(epoch from issued_at)::bigint as "issuedAt"
  from stored left join issued on act_id = id`

/**
 * Moves the action from the state `from` to the state `to`. Returns true for exactly one of several concurrent callers,
 * and false when the action is in any other state.
 */
export async function moveAction(
  q: Query,
  id: string,
  { from, to }: { readonly from: ActionRequestState; readonly to: ActionRequestState },
): Promise<boolean> {
  const { rowCount } = await q.query('update action_requests set status = $3 where id = $1 and status = $2', [
    id,
    from,
    to,
  ])
  return rowCount === 1
}

/**
 * Moves actions to the state `to` if they are pending approval, or allowed with an unused token. Leaves all other
 * actions unchanged.
 */
export async function moveActions(
  q: Query,
  ids: readonly string[],
  to: Extract<ActionRequestState, 'cancelled'>,
): Promise<void> {
  if (ids.length === 0) return
  await q.query(
    "update action_requests set status = $2 where id = any($1::text[]) and status in ('pending_approval', 'allowed')",
    [ids, to],
  )
}

/**
 * Moves an allowed action to `pending_approval` because a gateway holds its request. Returns false when the action is
 * not `allowed`.
 */
export async function holdAction(
  q: Query,
  id: string,
  { approvalId, decision }: { readonly approvalId: string; readonly decision: DecisionView },
): Promise<boolean> {
  const { rowCount } = await q.query(
    `update action_requests set status = 'pending_approval', approval_id = $2, decision = $3
     where id = $1 and status = 'allowed'`,
    [id, approvalId, JSON.stringify(decision)],
  )
  return rowCount === 1
}
