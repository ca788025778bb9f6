import { LIMITS } from '../wire/limits.ts'

/**
 * Names of the permission sections, `permissions.00` … `permissions.0f`. The first hex digit of the SHA-256 of a
 * permission's id selects its section.
 */
export const PERMISSION_SECTIONS: readonly string[] = Array.from(
  { length: LIMITS.permissionShards },
  (_, shard) => `permissions.0${shard.toString(16)}`,
)

/** Names of all sections. A valid section index lists all of them. */
export const SECTION_NAMES: readonly string[] = [
  'gateway',
  'agents',
  'connectors',
  'policies',
  'keys',
  ...PERMISSION_SECTIONS,
]

/** Serializes a section. The SHA-256 of the result is the hash in the section index and in the section's URL. */
export function sectionText(content: unknown): string {
  return JSON.stringify(content)
}
