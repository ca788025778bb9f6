import {
  createPermissionIndexBuilder,
  type PermissionEntry,
  type PermissionIndex,
} from '../../core/decision/permissions/permissions.ts'

/** The index of these permissions, built in one step. */
export function buildPermissionIndex(entries: readonly PermissionEntry[]): PermissionIndex {
  const builder = createPermissionIndexBuilder()
  builder.add(entries)
  return builder.finish()
}
