import type { Logger } from 'pino'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'
import { SEALED_COLUMNS, type SealedColumn } from '../../db/sealed-columns.ts'
import { addRewrapped, listOtherSealed, replaceSealed, type SealedRow } from './store.ts'

export type RewrapDeps = { readonly db: Query; readonly keyring: Keyring; readonly log: Logger }

const BATCH = 100

/**
 * Re-encrypts with the key `keyring.id` every value that is encrypted with another key. Returns the number of
 * re-encrypted values. Each value is a separate statement, so that no lock is held between values. Values that cannot
 * be decrypted stay unchanged and are logged.
 */
export async function rewrapAll(deps: RewrapDeps): Promise<number> {
  let count = 0
  for (const column of SEALED_COLUMNS) count += await rewrapColumn(deps, column)
  return count
}

async function rewrapColumn(deps: RewrapDeps, column: SealedColumn): Promise<number> {
  const { db, keyring } = deps
  const keyId = keyring.id
  let count = 0
  let after: readonly string[] | null = null
  do {
    const rows: readonly SealedRow[] = await listOtherSealed(db, column, { keyId, after, limit: BATCH })
    const replaced = await rewrapRows(deps, column, rows)
    if (replaced > 0) await addRewrapped(db, keyId, replaced)
    count += replaced
    after = rows.at(-1)?.key ?? null
  } while (after !== null)
  return count
}

async function rewrapRows(
  deps: RewrapDeps,
  column: SealedColumn,
  rows: readonly SealedRow[],
): Promise<number> {
  let replaced = 0
  for (const row of rows) if (await rewrapRow(deps, column, row)) replaced += 1
  return replaced
}

async function rewrapRow(deps: RewrapDeps, column: SealedColumn, row: SealedRow): Promise<boolean> {
  const sealed = resealed(deps, column, row)
  return sealed !== null && (await replaceSealed(deps.db, column, { row, sealed }))
}

/** Returns the value, encrypted with the current key; null if the value cannot be decrypted. */
function resealed(
  { keyring, log }: RewrapDeps,
  { table, key, place }: SealedColumn,
  row: SealedRow,
): Sealed | null {
  const context = place(Object.fromEntries(key.map((name, index) => [name, row.key[index] ?? ''])))
  try {
    return keyring.seal(keyring.open(row.sealed, context), context)
  } catch (error) {
    log.warn(
      { err: error, table, row: row.key, key_id: row.sealed.key_id },
      'a stored secret cannot be decrypted',
    )
    return null
  }
}
