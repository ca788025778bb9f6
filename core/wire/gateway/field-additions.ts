/** Sections whose entries may have critical fields. `permissions` stands for all permission sections. */
export type EntrySection = 'gateway' | 'agents' | 'connectors' | 'policies' | 'permissions'

export type FieldAddition = {
  readonly section: EntrySection
  /** Path of the field in an entry, without list indices, such as `document.rules.window`. */
  readonly field: string
  /**
   * Protocol that introduces the field: one more than the highest before it. Gateways of a lower protocol do not
   * support the field.
   */
  readonly since: number
  /**
   * Effect of the field on gateways that do not support it. `ignore`: they decide as if the field were absent. `deny`:
   * they deny the scope of the entry. A field that can tighten a decision must be `deny`.
   */
  readonly older: 'ignore' | 'deny'
}

/**
 * Fields that were added after protocol 1, one per line. A line is removed once all supported gateways have the field.
 */
export const FIELD_ADDITIONS: readonly FieldAddition[] = [
  { section: 'connectors', field: 'agentTriggers', since: 2, older: 'deny' },
  { section: 'connectors', field: 'providerTools.deny', since: 3, older: 'deny' },
  { section: 'permissions', field: 'agentPrefix', since: 4, older: 'deny' },
  { section: 'connectors', field: 'minted', since: 5, older: 'deny' },
  { section: 'gateway', field: 'refusalDetail', since: 6, older: 'ignore' },
  { section: 'connectors', field: 'minted.kind', since: 8, older: 'ignore' },
  { section: 'connectors', field: 'minted.source', since: 8, older: 'ignore' },
  { section: 'connectors', field: 'minted.narrow', since: 8, older: 'ignore' },
  { section: 'connectors', field: 'minted.scopesByAction', since: 8, older: 'ignore' },
]

/** Protocol of the product's first version. */
export const FIRST_PROTOCOL = 1

/** Protocol that introduces instances: their message to sidecars, and the kill scopes `claim:` and `pod:`. */
export const INSTANCE_PROTOCOL = 4

/** Protocol that introduces the section of a sidecar's own permissions (see `OWN_PERMISSIONS_SECTION`). */
export const OWN_PERMISSIONS_PROTOCOL = 7

/** Protocol of this version between control plane and gateway. Each higher protocol has more fields. */
export const PROTOCOL = protocolOf(FIELD_ADDITIONS)

function protocolOf(additions: readonly FieldAddition[]): number {
  const sinces = additions.map(({ since }) => since)
  return Math.max(FIRST_PROTOCOL, INSTANCE_PROTOCOL, OWN_PERMISSIONS_PROTOCOL, ...sinces)
}
