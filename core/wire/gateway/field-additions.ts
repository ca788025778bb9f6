/** Sections whose entries may have critical fields. `permissions` stands for all sections of permissions. */
export type EntrySection = 'gateway' | 'agents' | 'connectors' | 'policies' | 'permissions'

export type FieldAddition = {
  readonly section: EntrySection
  /** Path of the field in an entry, without the indices of lists, such as `document.rules.window`. */
  readonly field: string
  /** Protocol that has the field: one more than the highest before. Gateways of a lower one do not know the field. */
  readonly since: number
  /**
   * Effect of the field on gateways that do not know it. `ignore`: they decide as if it were absent. `deny`: they deny
   * the scope of its entry. A field that can tighten a decision is never one to ignore.
   */
  readonly older: 'ignore' | 'deny'
}

/**
 * Fields that were added since protocol 1: one line each. A line is removed when the last supported gateway knows its
 * field.
 */
export const FIELD_ADDITIONS: readonly FieldAddition[] = []

/** Protocol of the first version. */
export const FIRST_PROTOCOL = 1

/** Protocol between control plane and gateway that this version speaks. Each higher one has more fields. */
export const PROTOCOL = protocolOf(FIELD_ADDITIONS)

function protocolOf(additions: readonly FieldAddition[]): number {
  return Math.max(FIRST_PROTOCOL, ...additions.map(({ since }) => since))
}
