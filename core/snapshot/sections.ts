import { LIMITS } from '../wire/limits.ts'

/** `permissions.00` … `permissions.0f`: a permission is in the section of the first hex digit of the SHA-256 of its id. */
export const PERMISSION_SECTIONS: readonly string[] = Array.from(
  { length: LIMITS.permissionShards },
  (_, shard) => `permissions.0${shard.toString(16)}`,
)

/** The names of a section index. Every index lists all of them. */
export const SECTION_NAMES: readonly string[] = [
  'gateway',
  'agents',
  'connectors',
  'policies',
  'keys',
  ...PERMISSION_SECTIONS,
]

/** Returns the body of a section. Its SHA-256 is the hash in the section index, and in the URL that serves the section. */
export function sectionText(content: unknown): string {
  return JSON.stringify(content)
}
