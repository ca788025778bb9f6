import { canonicalJson } from '../action/spec.ts'
import { LIMITS } from '../wire/limits.ts'

/** Every section name of a manifest: five fixed ones and `permissions.00` … `permissions.0f`. All are always present. */
export const PERMISSION_SECTIONS: readonly string[] = Array.from(
  { length: LIMITS.permissionShards },
  (_, n) => permissionSection(n.toString(16)),
)

export const SECTION_NAMES: readonly string[] = [
  'gateway',
  'agents',
  'connectors',
  'policies',
  'keys',
  ...PERMISSION_SECTIONS,
]

/** The section that holds a permission, from the first hex digit of the SHA-256 of its id. */
export function shardOf(hexDigit: string): string {
  if (!/^[0-9a-f]$/.test(hexDigit)) throw new RangeError(`not a lower-case hex digit: ${hexDigit}`)
  return permissionSection(hexDigit)
}

/** The text whose SHA-256 names a section's content, and which is sent as its body. */
export function sectionText(content: unknown): string {
  return canonicalJson(content)
}

function permissionSection(hexDigit: string): string {
  return `permissions.0${hexDigit}`
}
