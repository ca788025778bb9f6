import { covers, type Namespaces } from '../../wire/access/rights.ts'
import type { KillEntry } from '../../wire/gateway/kill.ts'
import { namespaceOfScope, normaliseScope } from './kill-switch.ts'

/** Returns the kill switches within the namespaces, and those with the scope `all`, which cover the namespaces too. */
export function killsIn(namespaces: Namespaces, entries: readonly KillEntry[]): KillEntry[] {
  if (namespaces === 'all') return [...entries]
  return entries.filter(
    ({ scope }) => normaliseScope(scope) === 'all' || covers(namespaces, namespaceOfScope(scope)),
  )
}
