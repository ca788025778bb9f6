import type { Query } from '../../db/query.ts'
import { SEALED_COLUMNS } from '../../db/sealed-columns.ts'
import { SILENT_S } from '../gateways/rows.ts'

export type ReplicaKeys = {
  readonly replicaId: string
  /** Ids of the keys with which the replica decrypts. */
  readonly keyIds: readonly string[]
  /** Id of the key with which the replica encrypts. */
  readonly sealingId: string
}

export type RotationState = {
  /** Ids of the keys that encrypt or have encrypted secrets, newest first. The first key encrypts new secrets. */
  readonly used: readonly string[]
  /**
   * True when the rotation to the first key has ended: all secrets that can be decrypted were encrypted with this
   * key.
   */
  readonly isComplete: boolean
  readonly rewrapped: number
  /** Running replicas, ordered by id. */
  readonly replicas: readonly ReplicaKeys[]
  /** Number of running replicas whose version of the program is too old to report keys. */
  readonly earlierReplicas: number
}

export async function readRotation(q: Query): Promise<RotationState> {
  const keys = await q.query<{ id: string; isComplete: boolean; rewrapped: string }>(
    `select key_id as id, completed_at is not null as "isComplete", rewrapped from master_keys order by number desc`,
  )
  const live = `seen_at > clock_timestamp() - make_interval(secs => ${SILENT_S})`
  const { rows: replicas } = await q.query<ReplicaKeys>(
    `select replica_id as "replicaId", key_ids as "keyIds", sealing_id as "sealingId" from replica_keys
     where ${live} order by replica_id`,
  )
  const running = await q.query<{ count: number }>(
    `select count(*)::integer as count from replicas where ${live}`,
  )
  const [current] = keys.rows
  return {
    used: keys.rows.map(({ id }) => id),
    isComplete: current?.isComplete ?? true,
    rewrapped: Number(current?.rewrapped ?? 0),
    replicas,
    earlierReplicas: Math.max(0, (running.rows[0]?.count ?? 0) - replicas.length),
  }
}

/** Returns the number of encrypted values by the id of their master key. */
export async function countSealed(q: Query): Promise<ReadonlyMap<string, number>> {
  const each = SEALED_COLUMNS.map(
    ({ table, value }) =>
      `select ${value}->>'key_id' as id from ${table} where ${value}->>'key_id' is not null`,
  )
  const { rows } = await q.query<{ id: string; count: number }>(
    `select id, count(*)::integer as count from (${each.join(' union all ')}) as sealed group by id order by id`,
  )
  return new Map(rows.map(({ id, count }) => [id, count]))
}
