import { namespaceOfScope, normaliseScope } from '../../../core/decision/kill-switch/kill-switch.ts'
import { covers, type Namespaces } from '../../../core/wire/access/rights.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'

/** The kill switches within the namespaces, and those of everything, which concern these namespaces, too. */
export function killsIn(namespaces: Namespaces, entries: readonly KillEntry[]): KillEntry[] {
  if (namespaces === 'all') return [...entries]
  return entries.filter(
    ({ scope }) => normaliseScope(scope) === 'all' || covers(namespaces, namespaceOfScope(scope)),
  )
}
