import type { KillEntry } from '../../wire/gateway/kill.ts'
import { isInstanceScope, namespaceOfScope } from './kill-switch.ts'

/**
 * Returns the kill switch in the form for a gateway without support of the scopes `claim:` and `pod:`. Such a gateway
 * would ignore it, so the form covers the namespace of the instance, or everything when the scope names no namespace.
 */
export function widenedKill(entry: KillEntry): KillEntry {
  if (!isInstanceScope(entry.scope)) return entry
  const namespace = namespaceOfScope(entry.scope)
  return { ...entry, scope: namespace === null ? 'all' : `namespace:${namespace}` }
}
