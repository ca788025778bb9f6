import {
  createPermissionIndexBuilder,
  type PermissionIndex,
} from '../../core/decision/permissions/permissions.ts'
import type { PermissionEntry } from '../../core/wire/gateway/sync.ts'

/** The index of these permissions, built in one step. */
export function buildPermissionIndex(entries: readonly PermissionEntry[]): PermissionIndex {
  const builder = createPermissionIndexBuilder()
  builder.add(entries)
  return builder.finish()
}
