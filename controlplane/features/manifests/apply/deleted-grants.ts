import { GRANT_NAME_PREFIX } from '../../../../core/crd/manifests/grant-permission.ts'
import { endGrantOfObject } from '../../approvals/grants/grant-objects.ts'
import type { ObjectName } from '../rows.ts'
import { type ApplyContext, MANIFESTS_ACTOR } from './context.ts'

/**
 * Revokes the grants whose Permissions were deleted in the cluster.
 * @param deleted The deleted objects. The list may contain objects that were never pushed, and objects that were
 * created again.
 */
export async function endDeletedGrants(
  { q, orgId, writes }: ApplyContext,
  deleted: readonly ObjectName[],
): Promise<void> {
  const shown = deleted.filter(
    ({ kind, name }) => kind === 'Permission' && name.startsWith(GRANT_NAME_PREFIX),
  )
  if (shown.length === 0) return
  // Stores the collected events first, so that they precede the events of the revoked grants.
  await writes.flush()
  for (const { namespace, name } of shown)
    await endGrantOfObject(q, { namespace, name, orgId, actor: MANIFESTS_ACTOR })
}
