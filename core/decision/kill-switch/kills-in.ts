import { covers, type Namespaces } from '../../wire/access/rights.ts'
import type { KillEntry } from '../../wire/gateway/kill.ts'
import { namespaceOfScope, normaliseScope } from './kill-switch.ts'

/** Returns the kill switches that affect the namespaces, including those with the scope `all`. */
export function killsIn(namespaces: Namespaces, entries: readonly KillEntry[]): KillEntry[] {
  if (namespaces === 'all') return [...entries]
  return entries.filter(
    ({ scope }) => normaliseScope(scope) === 'all' || covers(namespaces, namespaceOfScope(scope)),
  )
}
