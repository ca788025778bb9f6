import type { HostedWorkReport } from '../../../core/wire/hosted-work.ts'
import type { Query } from '../../db/query.ts'
import { SYNC_CHANNEL } from '../kill-switch/store.ts'

/** Said on SYNC_CHANNEL when processes came, left or acknowledged a stop. */
export const PROCESSES_PAYLOAD = 'processes'

/** A replica that was silent for so long is gone. It speaks every two seconds. */
const SILENT_S = 10
/** Longer than processes that left are counted. */
const FORGET_S = 300
/** Longer than processes of a silent replica are counted: the longest lease of a Gateway is a day. */
const FORGET_SILENT_S = 86_400 + 400

export type ProcessFacts = {
  /** `namespace/name` of its gateway. */
  readonly name: string
  /** The only agent that it serves; null or missing = all of its gateway. */
  readonly agent?: string | null
  readonly applied_version: number | null
  readonly sent_version: number | null
  readonly agents: number
  readonly uptime_seconds: number
  /** Why it refused its configuration; null or missing = it did not. */
  readonly rejected?: string | null
  readonly conditions?: readonly string[]
  readonly warnings?: readonly string[]
  readonly hosted_work?: HostedWorkReport | null
}

export type ProcessReport = {
  readonly process_id: string
  readonly gateway_id: string
  /** Since when it is connected. */
  readonly age_s: number
  readonly facts: ProcessFacts
  readonly kill_state: string | null
}

export type Report = {
  readonly replicaId: string
  readonly changed: readonly ProcessReport[]
  readonly left: readonly { readonly process_id: string; readonly age_s: number }[]
  /** Processes that are away and whose place another one of their gateway has taken. */
  readonly replaced: readonly string[]
}

/**
 * Says that the replica lives, and what is new about its processes. Of two replicas that both hold a process the one
 * to which it came later has it: the other has not noticed yet that its stream is dead.
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
         connected_at = excluded.connected_at, departed_at = null, facts = excluded.facts, told_at = clock_timestamp(),
         kill_state = excluded.kill_state
       where p.replica_id = excluded.replica_id or p.departed_at is not null or p.connected_at < excluded.connected_at
         or not ${isAlive('p')}
     ), gone as (
       update gateway_processes p set departed_at = clock_timestamp() - make_interval(secs => age_s)
       from jsonb_to_recordset($3::jsonb) as r(process_id text, age_s float8)
       where p.process_id = r.process_id and p.replica_id = $1
     )
     delete from gateway_processes p where process_id = any($4::text[])
       and (replica_id = $1 or departed_at is not null or not ${isAlive('p')})`,
    [report.replicaId, JSON.stringify(report.changed), JSON.stringify(report.left), report.replaced],
  )
  if (isNews) await q.query('select pg_notify($1, $2)', [SYNC_CHANNEL, PROCESSES_PAYLOAD])
}

function isAlive(process: string): string {
  return `exists (select from replicas r where r.id = ${process}.replica_id
    and r.seen_at > clock_timestamp() - make_interval(secs => ${SILENT_S}))`
}

/** A replica that stops: its processes are away until another replica has them. */
export async function withdrawReplica(q: Query, replicaId: string): Promise<void> {
  await q.query(
    `with own as (delete from replicas where id = $1)
     update gateway_processes set departed_at = clock_timestamp() where replica_id = $1 and departed_at is null`,
    [replicaId],
  )
  await q.query('select pg_notify($1, $2)', [SYNC_CHANNEL, PROCESSES_PAYLOAD])
}

/**
 * Removes the replicas that were killed and could not withdraw. Processes of the named gateway ended with them; others may
 * run under their leases.
 */
export async function withdrawAllReplicas(q: Query, gatewayName: string): Promise<void> {
  await q.query(
    `with ended as (delete from replicas)
     update gateway_processes set departed_at = clock_timestamp()
     where departed_at is null and gateway_id in (select id from gateways where name = $1)`,
    [gatewayName],
  )
}

export type KnownProcess = {
  readonly processId: string
  readonly gatewayId: string
  /** Its pod or gateway, as in `process_owners`. */
  readonly owner: string
  /** The object of its pod is gone. */
  readonly isPodDeleted: boolean
  readonly replicaId: string
  readonly facts: ProcessFacts
  readonly killState: string | null
  /** Seconds since it was connected. */
  readonly connectedS: number
  /** Seconds since its replica was heard of. */
  readonly silentS: number
  /** Seconds since it left, or since its replica was heard of last; null while it is connected. */
  readonly awayS: number | null
  /** It did not leave: its replica is silent. */
  readonly isSilent: boolean
}

/** Every process that any replica has or had a moment ago. Forgets what dead replicas have left behind. */
export async function listProcesses(q: Query): Promise<readonly KnownProcess[]> {
  const { rows } = await q.query<KnownProcess & { forgotten: boolean }>(
    `with listed as (
       select p.*, coalesce(r.seen_at, p.told_at) as heard_at,
         coalesce(o.owner, 'gateway:' || p.gateway_id) as owner, i.deleted_at is not null as is_pod_deleted,
         coalesce(r.seen_at > clock_timestamp() - make_interval(secs => ${SILENT_S}), false) as is_alive
       from gateway_processes p left join replicas r on r.id = p.replica_id
         left join process_owners o on o.process_id = p.process_id
         left join pod_identities i on o.owner = 'pod:' || i.pod_uid
     ), timed as (
       select *, coalesce(departed_at, case when is_alive then null else heard_at end) as away_at from listed
     )
     select process_id as "processId", gateway_id as "gatewayId", replica_id as "replicaId", owner,
       is_pod_deleted as "isPodDeleted",
       facts || jsonb_build_object('uptime_seconds', (facts->>'uptime_seconds')::float8
         + extract(epoch from clock_timestamp() - told_at)::float8) as facts,
       kill_state as "killState", extract(epoch from clock_timestamp() - connected_at)::float8 as "connectedS",
       extract(epoch from clock_timestamp() - heard_at)::float8 as "silentS",
       extract(epoch from clock_timestamp() - away_at)::float8 as "awayS",
       departed_at is null and not is_alive as "isSilent",
       coalesce(away_at < clock_timestamp() - make_interval(secs =>
         case when departed_at is null then ${FORGET_SILENT_S} else ${FORGET_S} end), false) as forgotten
     from timed`,
    [],
  )
  const kept = rows.filter((row) => !row.forgotten)
  if (kept.length < rows.length) await forget(q)
  return kept
}

/** Whether a process of this gateway that serves this agent alone is connected, to any replica. */
export async function isAgentServed(q: Query, gatewayId: string, agent: string): Promise<boolean> {
  const { rows } = await q.query<{ isServed: boolean }>(
    `select exists (select from gateway_processes p where p.gateway_id = $1 and p.facts->>'agent' = $2
       and p.departed_at is null and ${isAlive('p')}) as "isServed"`,
    [gatewayId, agent],
  )
  return rows[0]?.isServed === true
}

async function forget(q: Query): Promise<void> {
  await q.query(
    `with dead as (
       delete from replicas where seen_at < clock_timestamp() - make_interval(secs => ${FORGET_SILENT_S})
     )
     delete from gateway_processes p
     where departed_at < clock_timestamp() - make_interval(secs => ${FORGET_S})
       or departed_at is null and told_at < clock_timestamp() - make_interval(secs => ${FORGET_SILENT_S})
         and not exists (select from replicas r where r.id = p.replica_id
           and r.seen_at > clock_timestamp() - make_interval(secs => ${FORGET_SILENT_S}))`,
    [],
  )
}
