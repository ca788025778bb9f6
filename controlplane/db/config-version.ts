import type { StateOrder } from '../../core/wire/gateway/kill.ts'
import type { Query } from './query.ts'
import { onlyRow } from './rows.ts'

/**
 * PostgreSQL notification channel for configuration changes. The payload is the new version; replicas read the change
 * itself from the tables.
 */
export const CHANGES_CHANNEL = 'chaperone'

/**
 * Raises the version of the configuration and notifies every replica at commit. Must be called in the transaction that
 * changes the configuration. The row lock makes versions rise in the order of the commits.
 */
export async function bumpVersion(q: Query): Promise<number> {
  const { rows } = await q.query<{ version: number }>(
    `with bumped as (update config_version set version = version + 1 returning version)
     select version, pg_notify('${CHANGES_CHANNEL}', version::text) from bumped`,
    [],
  )
  return onlyVersion(rows)
}

export async function currentVersion(q: Query): Promise<number> {
  const { rows } = await q.query<{ version: number }>('select version from config_version', [])
  return onlyVersion(rows)
}

/** Returns the version of the configuration together with the epoch of the database. */
export async function currentOrder(q: Query): Promise<StateOrder> {
  const { rows } = await q.query<StateOrder>(
    'select o.epoch, c.version as revision from state_order o, config_version c',
    [],
  )
  return onlyRow(rows)
}

function onlyVersion(rows: readonly { version: number }[]): number {
  const [row] = rows
  if (row === undefined)
    throw new Error('the table config_version has lost its row: restore the database from a backup')
  return row.version
}
