/** Where a configuration row came from; rows of `kubernetes` and `file` are edited in their manifest only. */
export type Source = 'kubernetes' | 'api' | 'file'

/** The row that an `insert ... returning` or an update by id has to give. */
export function onlyRow<R>(rows: readonly R[]): R {
  const [row] = rows
  if (row === undefined) throw new Error('the database returned no row where one was expected')
  return row
}
