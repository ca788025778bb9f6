import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import pg from 'pg'

/**
 * Preload of a process that ends by SIGKILL right after it has made a number of writes (KILL_AFTER_WRITES): an update
 * outside of a transaction, the commit of a transaction, or the rename of the master key file.
 */
let left = Number(process.env['KILL_AFTER_WRITES'])

function wrote(): void {
  left -= 1
  if (left === 0) process.kill(process.pid, 'SIGKILL')
}

type QueryFunction = (this: object, ...given: unknown[]) => unknown
const prototype = pg.Client.prototype as unknown as { query: QueryFunction }
const { query } = prototype
const inTransaction = new WeakSet<object>()
prototype.query = function killed(this: object, ...given) {
  const result = query.apply(this, given)
  const [statement] = given
  const text = typeof statement === 'string' ? statement : String((statement as { text?: unknown })?.text)
  if (/^\s*begin\b/i.test(text)) inTransaction.add(this)
  const isCommit = /^\s*commit\b/i.test(text)
  if (isCommit) inTransaction.delete(this)
  const isWrite = isCommit || (/^\s*update\b/i.test(text) && !inTransaction.has(this))
  if (!(result instanceof Promise) || !isWrite) return result
  return result.then((value: unknown) => {
    wrote()
    return value
  })
}

const { renameSync } = fs
fs.renameSync = (from, to) => {
  renameSync(from, to)
  if (String(to).endsWith('master.key')) wrote()
}
syncBuiltinESMExports()
