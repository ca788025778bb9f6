import type { KnownPod, PodIdentityReport } from '../../../core/wire/operator/pods.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import { PODS_PAYLOAD, SYNC_CHANNEL } from '../../db/sync-channel.ts'

/**
 * Time for which rows of deleted pods are kept. A day is sufficient: a token is valid for at most an hour, and the
 * API server rejects the token of a deleted pod.
 */
const KEEP_DELETED = "interval '1 day'"

/**
 * Time for which the token of a pod is accepted after the pod has presented a newer token. A request with the old
 * token may be in flight when the first request with the new token arrives.
 */
const ROTATION_GRACE = "interval '60 seconds'"

export type PodIdentityRow = {
  readonly podUid: string
  readonly namespace: string
  readonly name: string
  readonly agent: string
  readonly gateway: string
  readonly workload: string | null
  readonly isDeleted: boolean
  /** True when the pod has presented a newer token and `ROTATION_GRACE` for the presented token is over. */
  readonly isTokenReplaced: boolean
}

/**
 * Stores the first report of each pod, its first Sandbox and SandboxClaim, and its deletion. Ignores other reports of a
 * known UID. Notifies the replicas only of stored SandboxClaims and deletions, because every replica of the operator
 * sends each report.
 */
export async function putPodIdentities(q: Query, pods: readonly PodIdentityReport[]): Promise<void> {
  await q.query(
    `with reported as (
       select * from jsonb_to_recordset($1::jsonb)
         as r("podUid" text, namespace text, name text, agent text, gateway text, workload text, sandbox jsonb,
           claim jsonb, deleted boolean)
     ), stale as (
       delete from pod_identities where deleted_at < clock_timestamp() - ${KEEP_DELETED}
         and pod_uid not in (select "podUid" from reported)
     ), known as (
       delete from unknown_pods where first_seen_at < clock_timestamp() - ${KEEP_DELETED}
         or pod_uid in (select "podUid" from reported)
     ), stored as (
     insert into pod_identities as p (pod_uid, namespace, name, agent, gateway, workload, sandbox, claim, deleted_at)
     select "podUid", namespace, name, agent, gateway, workload, sandbox, claim,
       case when deleted then clock_timestamp() end
     from reported order by "podUid"
     on conflict (pod_uid) do update set deleted_at = coalesce(p.deleted_at, excluded.deleted_at),
       sandbox = coalesce(p.sandbox, excluded.sandbox), claim = coalesce(p.claim, excluded.claim)
       where p.deleted_at is null and excluded.deleted_at is not null
         or p.sandbox is null and excluded.sandbox is not null or p.claim is null and excluded.claim is not null
       returning deleted_at, claim
     )
     select pg_notify($2, $3) from stored where deleted_at is not null or claim is not null limit 1`,
    [JSON.stringify(pods), SYNC_CHANNEL, PODS_PAYLOAD],
  )
}

/** Lists every reported pod that is not deleted. */
export async function listPodIdentities(q: Query): Promise<readonly KnownPod[]> {
  const { rows } = await q.query<KnownPod>(
    'select pod_uid as "podUid", namespace, name, agent, gateway, workload, sandbox, claim from pod_identities where deleted_at is null',
    [],
  )
  return rows
}

/**
 * Returns the pod and records the time of its newest token. `issuedAtS`: issue time of the presented token in Unix
 * seconds; null when the token has no such time.
 */
export async function findPodIdentity(
  q: Query,
  podUid: string,
  issuedAtS: number | null,
): Promise<PodIdentityRow | undefined> {
  const { rows } = await q.query<PodIdentityRow>(
    `with newest as (
       update pod_identities set token_issued_at = to_timestamp($2::float8), token_seen_at = clock_timestamp()
       where pod_uid = $1 and $2::float8 is not null
         and (token_issued_at is null or token_issued_at < to_timestamp($2::float8))
     )
     select pod_uid as "podUid", namespace, name, agent, gateway, workload, deleted_at is not null as "isDeleted",
       coalesce(token_issued_at > to_timestamp($2::float8) + ${ROTATION_GRACE}
         and token_seen_at < clock_timestamp() - ${ROTATION_GRACE}, false) as "isTokenReplaced"
     from pod_identities where pod_uid = $1`,
    [podUid, issuedAtS],
  )
  return rows[0]
}

/** Returns the UIDs of the given pods that are deleted. */
export async function listDeletedPods(q: Query, podUids: readonly string[]): Promise<readonly string[]> {
  if (podUids.length === 0) return []
  const { rows } = await q.query<{ podUid: string }>(
    'select pod_uid as "podUid" from pod_identities where pod_uid = any($1::text[]) and deleted_at is not null',
    [podUids],
  )
  return rows.map(({ podUid }) => podUid)
}

/** Returns the seconds since a pod that the operator has not reported presented its first token to any replica. */
export async function noteUnknownPod(q: Query, podUid: string): Promise<number> {
  const { rows } = await q.query<{ waitedS: number }>(
    `insert into unknown_pods (pod_uid) values ($1) on conflict (pod_uid) do update set pod_uid = excluded.pod_uid
     returning extract(epoch from clock_timestamp() - first_seen_at)::float8 as "waitedS"`,
    [podUid],
  )
  return onlyRow(rows).waitedS
}

/** Stores the ServiceAccount that the API server returned in the review of the pod's token. */
export async function setServiceAccount(q: Query, podUid: string, name: string): Promise<void> {
  await q.query(
    'update pod_identities set service_account = $2 where pod_uid = $1 and service_account is distinct from $2',
    [podUid, name],
  )
}
