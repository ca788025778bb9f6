import { LIMITS } from '../wire/schema/limits.ts'

/**
 * Names of the permission sections, `permissions.00` … `permissions.0f`. The first hex digit of the SHA-256 of a
 * permission's id selects its section.
 */
export const PERMISSION_SECTIONS: readonly string[] = Array.from(
  { length: LIMITS.permissionShards },
  (_, shard) => `permissions.0${shard.toString(16)}`,
)

/**
 * Section with the permissions that name exactly the agent of a sidecar. The other permission sections of the sidecar
 * then have the permissions for several agents, so that all sidecars of a Gateway share them. A gateway that is no
 * sidecar has no such section; its other permission sections have all permissions.
 */
export const OWN_PERMISSIONS_SECTION = 'permissions.own'

/** Names of the sections that a valid section index lists. The index may also list `OWN_PERMISSIONS_SECTION`. */
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
