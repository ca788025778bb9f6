import type { StateOrder } from '../../core/wire/gateway/kill.ts'
import type { Query } from './query.ts'
import { onlyRow } from './rows.ts'
import { SYNC_CHANNEL } from './sync-channel.ts'

export async function currentEpoch(q: Query): Promise<number> {
  const { rows } = await q.query<{ epoch: number }>('select epoch from state_order', [])
  return onlyRow(rows).epoch
}

/**
 * Latest epoch and revision, of kill state and configuration, that a gateway or replica has seen. Null means that the
 * state is not compared.
 */
export type SeenOrders = { readonly kill: StateOrder | null; readonly config: StateOrder | null }

/**
 * Begins a new epoch when the database is behind a state that a gateway or replica has seen, because the database
 * lost commits. In the new epoch, the current state of the database counts as the latest state. Returns true when an
 * epoch began. The number of an epoch is a time in milliseconds, so that it does not depend on lost data. A seen
 * epoch that is more than a minute ahead of the clock is ignored.
 */
export async function raiseEpoch(q: Query, { kill, config }: SeenOrders): Promise<boolean> {
  const { rowCount } = await q.query(
    `with now_ms as (select (extract(epoch from clock_timestamp()) * 1000)::bigint as at),
     raised as (
       update state_order set epoch = greatest(epoch + 1, at) from now_ms, config_version c
       where (($1::bigint, $2::bigint) > (epoch, kill_revision) and $1::bigint <= at + 60000)
          or (($3::bigint, $4::bigint) > (epoch, c.version) and $3::bigint <= at + 60000)
       returning epoch
     )
     select pg_notify($5, '') from raised`,
    [
      ...[kill?.epoch ?? null, kill?.revision ?? null],
      ...[config?.epoch ?? null, config?.revision ?? null, SYNC_CHANNEL],
    ],
  )
  return rowCount > 0
}
