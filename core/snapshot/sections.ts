import { LIMITS } from '../wire/limits.ts'

/**
 * Sections with permissions, `permissions.00` … `permissions.0f`. The first hex digit of the SHA-256 of a permission's
 * id selects its section.
 */
export const PERMISSION_SECTIONS: readonly string[] = Array.from(
  { length: LIMITS.permissionShards },
  (_, shard) => `permissions.0${shard.toString(16)}`,
)

/** Names of all sections. Every section index lists all of them. */
export const SECTION_NAMES: readonly string[] = [
  'gateway',
  'agents',
  'connectors',
  'policies',
  'keys',
  ...PERMISSION_SECTIONS,
]

/** Returns the body of a section. Its SHA-256 is the hash in the section index and in the URL of the section. */
export function sectionText(content: unknown): string {
  return JSON.stringify(content)
}
