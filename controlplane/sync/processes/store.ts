import type { Greeting } from '../../../core/wire/gateway/greeting.ts'
import type { HostedWorkReport } from '../../../core/wire/gateway/hosted-work.ts'
import type { Query } from '../../db/query.ts'
import { PROCESSES_PAYLOAD, SYNC_CHANNEL } from '../../db/sync-channel.ts'
import { isAlive, SILENT_S } from '../../features/gateways/rows.ts'

/**
 * Seconds after which a disconnected process is deleted. The value exceeds the time for which a process counts as
 * recently disconnected.
 */
const RETENTION_S = 300
/**
 * Seconds after which a process of an unresponsive replica is deleted. Such a process may continue to run until its
 * lease ends, which takes at most a day.
 */
const SILENT_RETENTION_S = 86_400 + 400

export type ProcessFacts = {
  /** Full name of the gateway, `namespace/name`. */
  readonly name: string
  /** The only agent that the process serves; null or absent for all agents of the gateway. */
  readonly agent?: string | null
  /** UID of the sidecar's pod; null or absent for a process outside a pod. */
  readonly pod_uid?: string | null
  /** Protocol and program version that the process sent when it connected. Absent in rows of older replicas. */
  readonly greeting?: Greeting
  readonly applied_version: number | null
  readonly sent_version: number | null
  readonly agents: number
  readonly uptime_seconds: number
  /** Reason why the process refused its configuration; null or absent when the process accepted it. */
  readonly rejected?: string | null
  readonly conditions?: readonly string[]
  readonly warnings?: readonly string[]
  readonly hosted_work?: HostedWorkReport | null
}

export type ProcessReport = {
  readonly process_id: string
  readonly gateway_id: string
  /** Seconds since the process connected. */
  readonly age_s: number
  readonly facts: ProcessFacts
  readonly kill_state: string | null
}

export type Report = {
  readonly replicaId: string
  readonly changed: readonly ProcessReport[]
  readonly left: readonly { readonly process_id: string; readonly age_s: number }[]
  /** Disconnected processes that were replaced by another process of the same owner (gateway or pod). */
  readonly replaced: readonly string[]
}

/**
 * Stores that the replica is alive, and the changes of its processes. When two replicas report the same process, the
 * process is stored for the replica with the later connection, because the other replica has not yet detected that its
 * stream is closed. `isNews`: true to notify the other replicas.
 */
export async function reportProcesses(q: Query, report: Report, isNews: boolean): Promise<void> {
  await q.query(
    `with alive as (
       insert into replicas (id) values ($1) on conflict (id) do update set seen_at = clock_timestamp()
     ), changed as (
       insert into gateway_processes as p (process_id, gateway_id, replica_id, connected_at, facts, kill_state)
       select process_id, gateway_id, $1, clock_timestamp() - make_interval(secs => age_s), facts, kill_state
       from jsonb_to_recordset($2::jsonb) as r(process_id text, gateway_id text, age_s float8, facts jsonb, kill_state text)
       on conflict (process_id) do update set gateway_id = excluded.gateway_id, replica_id = excluded.replica_id,
         connected_at = excluded.connected_at, disconnected_at = null, facts = excluded.facts, reported_at = clock_timestamp(),
         kill_state = excluded.kill_state
       where p.replica_id = excluded.replica_id or p.disconnected_at is not null or p.connected_at < excluded.connected_at
         or not ${isAlive('p')}
     ), gone as (
       update gateway_processes p set disconnected_at = clock_timestamp() - make_interval(secs => age_s)
       from jsonb_to_recordset($3::jsonb) as r(process_id text, age_s float8)
       where p.process_id = r.process_id and p.replica_id = $1
     )
     delete from gateway_processes p where process_id = any($4::text[])
       and (replica_id = $1 or disconnected_at is not null or not ${isAlive('p')})`,
    [report.replicaId, JSON.stringify(report.changed), JSON.stringify(report.left), report.replaced],
  )
  if (isNews) await q.query('select pg_notify($1, $2)', [SYNC_CHANNEL, PROCESSES_PAYLOAD])
}

/** Removes a replica that shuts down. Its processes count as disconnected until another replica reports them. */
export async function withdrawReplica(q: Query, replicaId: string): Promise<void> {
  await q.query(
    `with own as (delete from replicas where id = $1)
     update gateway_processes set disconnected_at = clock_timestamp() where replica_id = $1 and disconnected_at is null`,
    [replicaId],
  )
  await q.query('select pg_notify($1, $2)', [SYNC_CHANNEL, PROCESSES_PAYLOAD])
}

/**
 * Removes all replicas at the start of an installation with a single replica, because a killed replica could not
 * remove its own row. Marks only the processes of the named gateway as disconnected: these processes ended with the
 * replica, while processes of other gateways may continue until their leases end.
 */
export async function withdrawAllReplicas(q: Query, gatewayName: string): Promise<void> {
  await q.query(
    `with ended as (delete from replicas)
     update gateway_processes set disconnected_at = clock_timestamp()
     where disconnected_at is null and gateway_id in (select id from gateways where name = $1)`,
    [gatewayName],
  )
}

export type KnownProcess = {
  readonly processId: string
  readonly gatewayId: string
  /** Pod or gateway that owns the process, as stored in the table `process_owners`. */
  readonly owner: string
  /** True when the Pod object of the process no longer exists. */
  readonly isPodDeleted: boolean
  readonly replicaId: string
  readonly facts: ProcessFacts
  readonly killState: string | null
  /** Seconds since the process connected. */
  readonly connectedS: number
  /** Seconds since the replica of the process last reported. */
  readonly silentS: number
  /**
   * Seconds since the process disconnected, or since the last report of its unresponsive replica. Null while the
   * process is connected.
   */
  readonly awayS: number | null
  /** True when the process did not disconnect, but its replica ceased to report. */
  readonly isSilent: boolean
}

/**
 * Lists the processes that are connected to any replica, and processes that disconnected recently. Deletes expired
 * rows.
 */
export async function listProcesses(q: Query): Promise<readonly KnownProcess[]> {
  const { rows } = await q.query<KnownProcess & { isExpired: boolean }>(
    `with listed as (
       select p.*, coalesce(r.seen_at, p.reported_at) as last_reported_at,
         coalesce(o.owner, 'gateway:' || p.gateway_id) as owner, i.deleted_at is not null as is_pod_deleted,
         coalesce(r.seen_at > clock_timestamp() - make_interval(secs => ${SILENT_S}), false) as is_alive
       from gateway_processes p left join replicas r on r.id = p.replica_id
         left join process_owners o on o.process_id = p.process_id
         left join pod_identities i on o.owner = 'pod:' || i.pod_uid
     ), timed as (
       select *, coalesce(disconnected_at, case when is_alive then null else last_reported_at end) as away_at from listed
     )
     select process_id as "processId", gateway_id as "gatewayId", replica_id as "replicaId", owner,
       is_pod_deleted as "isPodDeleted",
       facts || jsonb_build_object('uptime_seconds', (facts->>'uptime_seconds')::float8
         + extract(epoch from clock_timestamp() - reported_at)::float8) as facts,
       kill_state as "killState", extract(epoch from clock_timestamp() - connected_at)::float8 as "connectedS",
       extract(epoch from clock_timestamp() - last_reported_at)::float8 as "silentS",
       extract(epoch from clock_timestamp() - away_at)::float8 as "awayS",
       disconnected_at is null and not is_alive as "isSilent",
       coalesce(away_at < clock_timestamp() - make_interval(secs =>
         case when disconnected_at is null then ${SILENT_RETENTION_S} else ${RETENTION_S} end), false) as "isExpired"
     from timed`,
    [],
  )
  const kept = rows.filter((row) => !row.isExpired)
  if (kept.length < rows.length) await deleteExpired(q)
  return kept
}

async function deleteExpired(q: Query): Promise<void> {
  await q.query(
    `with dead as (
       delete from replicas where seen_at < clock_timestamp() - make_interval(secs => ${SILENT_RETENTION_S})
     )
     delete from gateway_processes p
     where disconnected_at < clock_timestamp() - make_interval(secs => ${RETENTION_S})
       or disconnected_at is null and reported_at < clock_timestamp() - make_interval(secs => ${SILENT_RETENTION_S})
         and not exists (select from replicas r where r.id = p.replica_id
           and r.seen_at > clock_timestamp() - make_interval(secs => ${SILENT_RETENTION_S}))`,
    [],
  )
}
