import type { HeldBy } from '../../../../core/wire/gateway/hold.ts'
import type { GRANT_DURATIONS, GrantView } from '../../../../core/wire/grants.ts'
import { newId } from '../../../crypto/ids.ts'
import type { Query } from '../../../db/query.ts'
import { onlyRow } from '../../../db/rows.ts'
import type { ScopedQuery } from '../../../db/scoped-query.ts'
import { ALL_ANSWERS_COUNT } from '../answers/counting-store.ts'
import type { StoredAnswer } from '../rows.ts'

export type GrantRow = {
  readonly id: string
  readonly approvalId: string
  readonly gatewayId: string
  readonly gateway: string
  readonly agent: string
  readonly actionType: string
  readonly connectorName: string | null
  readonly anyTarget: boolean
  readonly target: string | null
  readonly parameters: Readonly<Record<string, unknown>>
  /**
   * True if later requests must have exactly `parameters` and `query`. False if they must only have the values in
   * `parameters`.
   */
  readonly isExact: boolean
  readonly query: string | null
  readonly heldBy: HeldBy
  readonly answers: readonly StoredAnswer[]
  readonly maxUses: number
  readonly uses: number
  readonly createdBy: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly revokedAt: Date | null
  readonly revokedBy: string | null
  readonly status: GrantView['status']
}

export type GrantInput = Pick<
  GrantRow,
  | 'approvalId'
  | 'gatewayId'
  | 'agent'
  | 'actionType'
  | 'connectorName'
  | 'anyTarget'
  | 'target'
  | 'parameters'
  | 'isExact'
  | 'query'
  | 'heldBy'
  | 'answers'
  | 'maxUses'
  | 'createdBy'
> & {
  readonly orgId: string
  readonly agentId: string
  readonly claimUid: string | null
  readonly duration: (typeof GRANT_DURATIONS)[number]
}

const STATUS = `case when revoked_at is not null then 'revoked' when uses >= max_uses then 'spent'
  when expires_at <= clock_timestamp() then 'expired' when ${ALL_ANSWERS_COUNT} then 'active' else 'ended' end`
const COLUMNS = `id, approval_id as "approvalId", gateway_id as "gatewayId",
  (select g.name from gateways g where g.id = gateway_id) as gateway, agent, action_type as "actionType",
  connector_name as "connectorName", any_target as "anyTarget", target, parameters, exact as "isExact", query, held_by as "heldBy", answers,
  max_uses as "maxUses", uses, created_by as "createdBy", created_at as "createdAt", expires_at as "expiresAt",
  revoked_at as "revokedAt", revoked_by as "revokedBy", ${STATUS} as status`

const EXPIRY = `case $14 when '15m' then clock_timestamp() + interval '15 minutes'
  when '1h' then clock_timestamp() + interval '1 hour'
  else (date_trunc('day', clock_timestamp() at time zone 'utc') + interval '1 day') at time zone 'utc' end`

export async function insertGrant(q: Query, row: GrantInput): Promise<GrantRow> {
  const { rows } = await q.query<GrantRow>(
    `insert into permission_grants (id, org_id, approval_id, gateway_id, agent, agent_id, claim_uid, action_type,
       connector_name, any_target, target, parameters, held_by, expires_at, answers, max_uses, created_by, exact, query)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, ${EXPIRY}, $15, $16, $17, $18, $19) returning ${COLUMNS}`,
    [
      newId('grant'),
      row.orgId,
      row.approvalId,
      row.gatewayId,
      row.agent,
      row.agentId,
      row.claimUid,
      row.actionType,
      row.connectorName,
      row.anyTarget,
      row.anyTarget ? null : row.target,
      JSON.stringify(row.parameters),
      JSON.stringify(row.heldBy),
      row.duration,
      JSON.stringify(row.answers),
      row.maxUses,
      row.createdBy,
      row.isExact,
      row.query,
    ],
  )
  return onlyRow(rows)
}

/**
 * Properties of a held request that must equal those of a covering grant. The rules in `heldBy` must be sorted by
 * `orderedHeldBy`, so that equal rules compare as equal.
 */
export type GrantKey = Pick<
  GrantInput,
  'gatewayId' | 'agent' | 'claimUid' | 'actionType' | 'connectorName' | 'target' | 'parameters' | 'query'
> & { readonly heldBy: HeldBy }

/**
 * SQL expression for the value that `held_by` of a grant must equal: the rules that held the request. A grant from an
 * access request has no hash of header fields (`common_sha256`), because no request was held. For such a grant, the
 * expression omits the hash.
 */
const COMPARED_RULES =
  "case when held_by ? 'common_sha256' then $7::jsonb else $7::jsonb - 'common_sha256' end"
const USABLE = `revoked_at is null and uses < max_uses and expires_at > clock_timestamp() and ${ALL_ANSWERS_COUNT}`

/**
 * SQL condition that selects the rows of `permission_grants` for a `GrantKey`. The condition also compares the id of
 * the agent, because a later agent may have the same name and must not get the grants of the earlier agent.
 */
const COVERS = `gateway_id = $1 and agent = $2
  and agent_id = (select a.id from agents a where a.org_id = permission_grants.org_id and a.name = $2
    and a.status <> 'revoked')
  and claim_uid is not distinct from $3 and action_type = $4 and connector_name is not distinct from $5
  and (any_target or target is not distinct from $6) and held_by = ${COMPARED_RULES}
  and case when exact then parameters = $8::jsonb and query is not distinct from $9
    else not exists (select from jsonb_each(parameters) as wanted(name, value)
      where $8::jsonb -> wanted.name is distinct from wanted.value) end`

function keyValues(key: GrantKey): readonly (string | null)[] {
  return [
    key.gatewayId,
    key.agent,
    key.claimUid,
    key.actionType,
    key.connectorName,
    key.target,
    JSON.stringify(key.heldBy),
    JSON.stringify(key.parameters),
    key.query,
  ]
}

/** Returns the usable grants that cover a held request, at most 20. The grant that expires first comes first. */
export async function findCoveringGrants(q: Query, key: GrantKey): Promise<readonly GrantRow[]> {
  const { rows } = await q.query<GrantRow>(
    `select ${COLUMNS} from permission_grants where ${COVERS} and ${USABLE} order by expires_at, id limit 20`,
    [...keyValues(key)],
  )
  return rows
}

/**
 * Uses a grant once for a held request, and returns the grant; undefined when no usable grant covers the request. The
 * statement is conditional, so the uses of all gateways and replicas together never exceed the maximum. Of several
 * grants, the one that expires first is used. `confirmed`: ids of the grants whose approvers were confirmed to still
 * have the right to answer; null when no confirmation is required.
 */
export async function takeGrant(
  q: Query,
  key: GrantKey,
  confirmed: readonly string[] | null,
): Promise<GrantRow | undefined> {
  const { rows } = await q.query<GrantRow>(
    `update permission_grants set uses = uses + 1 where id = (
       select id from permission_grants where ${COVERS} and ($10::text[] is null or id = any($10)) and ${USABLE}
       order by expires_at, id limit 1)
     and ${USABLE} returning ${COLUMNS}`,
    [...keyValues(key), confirmed],
  )
  return rows[0]
}

export type GrantQuestion = Pick<
  GrantInput,
  'gatewayId' | 'agent' | 'actionType' | 'connectorName' | 'target'
>

/**
 * Returns the usable grants of an agent for an action on a target. Ignores the parameters and the rules of the
 * grants.
 */
export async function findGrants(q: Query, asked: GrantQuestion): Promise<readonly GrantRow[]> {
  const { rows } = await q.query<GrantRow>(
    `select ${COLUMNS} from permission_grants where gateway_id = $1 and agent = $2 and action_type = $3
       and connector_name is not distinct from $4 and (any_target or target is not distinct from $5)
       and ${USABLE} order by expires_at, id limit 20`,
    [asked.gatewayId, asked.agent, asked.actionType, asked.connectorName, asked.target],
  )
  return rows
}

/** Lists the grants of agents in the namespaces, newest first, at most 500. */
export async function listGrants(q: ScopedQuery): Promise<readonly GrantRow[]> {
  return q.rows<GrantRow>(
    [],
    (within) =>
      `select ${COLUMNS} from permission_grants where ${within.name('agent')} order by created_at desc, id limit 500`,
  )
}

/** Returns the grant with this id if its agent is in the namespaces of the caller; otherwise undefined. */
export async function getGrant(q: ScopedQuery, id: string): Promise<GrantRow | undefined> {
  const [row] = await q.rows<GrantRow>(
    [id],
    (within) => `select ${COLUMNS} from permission_grants where id = $1 and ${within.name('agent')}`,
  )
  return row
}

/** Returns the ids of the unrevoked grants that the answer to an approval made. */
export async function findGrantIdsOf(q: Query, approvalId: string): Promise<readonly string[]> {
  const { rows } = await q.query<{ id: string }>(
    'select id from permission_grants where approval_id = $1 and revoked_at is null order by id',
    [approvalId],
  )
  return rows.map(({ id }) => id)
}

/** Revokes a grant. Returns undefined when the grant is revoked already. */
export async function revokeGrant(q: Query, id: string, by: string): Promise<GrantRow | undefined> {
  const { rows } = await q.query<GrantRow>(
    `update permission_grants set revoked_at = clock_timestamp(), revoked_by = $2
     where id = $1 and revoked_at is null returning ${COLUMNS}`,
    [id, by],
  )
  return rows[0]
}

/**
 * Returns the ids of the approved holds that the grant released and that no request has used yet. Locks these rows
 * until the transaction ends. `windowS`: number of seconds after the release of a hold in which a request can use the
 * hold.
 */
export async function lockUnspentHolds(q: Query, id: string, windowS: number): Promise<readonly string[]> {
  const { rows } = await q.query<{ id: string }>(
    `select id from approvals where grant_id = $1 and status = 'approved' and spent_at is null
       and responded_at > clock_timestamp() - make_interval(secs => $2) order by id for update`,
    [id, windowS],
  )
  return rows.map((row) => row.id)
}

/** SQL expression for the name of the Permission of a grant, as `grantObjectName` returns it. */
const OBJECT_NAME =
  "'grant-' || lower(substr(permission_grants.id, position('_' in permission_grants.id) + 1))"
const OF_CLUSTER = `exists (select from gateways g where g.id = gateway_id and g.source = 'kubernetes'`

export type ShownGrant = GrantRow & { readonly isStored: boolean }

/**
 * Lists the active grants of Gateways of the cluster. `isStored`: whether the operator has pushed the Permission that
 * shows the grant.
 */
export async function listShownGrants(q: Query): Promise<readonly ShownGrant[]> {
  const { rows } = await q.query<ShownGrant>(
    `select ${COLUMNS}, exists (select from manifest_objects m join gateways g on g.id = gateway_id
         where m.kind = 'Permission' and m.namespace = split_part(g.name, '/', 1) and m.name = ${OBJECT_NAME})
       as "isStored"
     from permission_grants where ${USABLE} and ${OF_CLUSTER}) order by id limit 10000`,
    [],
  )
  return rows
}

/** Returns the grant that a Permission of the cluster shows. Includes inactive grants. */
export async function findGrantOfObject(
  q: Query,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<GrantRow | undefined> {
  const { rows } = await q.query<GrantRow>(
    `select ${COLUMNS} from permission_grants where ${OBJECT_NAME} = $1
       and ${OF_CLUSTER} and split_part(g.name, '/', 1) = $2)`,
    [name, namespace],
  )
  return rows[0]
}
