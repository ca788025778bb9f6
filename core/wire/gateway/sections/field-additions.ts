/** Sections whose entries may have critical fields. `permissions` stands for all permission sections. */
export type EntrySection = 'gateway' | 'agents' | 'connectors' | 'policies' | 'permissions'

export type FieldAddition = {
  readonly section: EntrySection
  /** Path of the field in a section entry, without list indices, such as `document.rules.window`. */
  readonly field: string
  /**
   * Protocol that introduces the field: one more than the highest before it. Gateways of a lower protocol do not
   * support the field.
   */
  readonly since: number
  /**
   * Effect of the field on gateways that do not support it. `ignore`: they decide as if the field were absent. `deny`:
   * they deny the scope of the section entry. A field that can tighten a decision must be `deny`.
   */
  readonly older: 'ignore' | 'deny'
}

/**
 * Fields that were added after protocol 1, one per line. A line is removed once all supported gateways have the field.
 */
export const FIELD_ADDITIONS: readonly FieldAddition[] = [
  { section: 'connectors', field: 'mcp.tools', since: 2, older: 'deny' },
  { section: 'connectors', field: 'credential', since: 3, older: 'ignore' },
]

/** Protocol of release 0.1.0. */
export const FIRST_PROTOCOL = 1

/** Protocol of this version between control plane and gateway. Each higher protocol has more fields. */
export const PROTOCOL = Math.max(FIRST_PROTOCOL, ...FIELD_ADDITIONS.map(({ since }) => since))
