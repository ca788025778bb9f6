import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import pg from 'pg'

/**
 * Preload of a process that ends by SIGKILL right after it has made a number of writes (KILL_AFTER_WRITES): an update, the commit of
 * a transaction, or the rename of the master key file.
 */
let left = Number(process.env['KILL_AFTER_WRITES'])

function wrote(): void {
  left -= 1
  if (left === 0) process.kill(process.pid, 'SIGKILL')
}

type QueryFunction = (this: unknown, ...given: unknown[]) => unknown
const prototype = pg.Client.prototype as unknown as { query: QueryFunction }
const { query } = prototype
prototype.query = function killed(...given) {
  const result = query.apply(this, given)
  const [statement] = given
  const text = typeof statement === 'string' ? statement : String((statement as { text?: unknown })?.text)
  if (!(result instanceof Promise) || !/^\s*(update|commit)\b/i.test(text)) return result
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
