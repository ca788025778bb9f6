import {
  createPermissionIndexBuilder,
  type PermissionIndex,
} from '../../core/decision/permissions/permission-index.ts'
import type { PermissionEntry } from '../../core/wire/gateway/sync.ts'

/** Builds the index of these permissions in one step. */
export function buildPermissionIndex(entries: readonly PermissionEntry[]): PermissionIndex {
  const builder = createPermissionIndexBuilder()
  builder.add(entries)
  return builder.finish()
}
