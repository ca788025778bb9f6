/** Origin of a configuration row. Rows of `kubernetes` and `file` can be edited in their manifest only. */
export type Source = 'kubernetes' | 'api' | 'file'

/** Returns the row of an `insert ... returning` or of an update by id. Throws when the result has no row. */
export function onlyRow<R>(rows: readonly R[]): R {
  const [row] = rows
  if (row === undefined)
    throw new Error(
      'the database returned no row for a statement that must return one: report this as a defect of Chaperone',
    )
  return row
}
