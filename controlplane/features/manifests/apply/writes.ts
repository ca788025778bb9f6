import type { Query } from '../../../db/query.ts'
import { type AuditEvent, recordEvents } from '../../audit/events.ts'
import { type PermissionInput, replaceOwnedPermissions } from '../../permissions/service.ts'

/**
 * Collects the Permission rows and audit events of one transaction. `flush` stores them in few statements, because a
 * change set may apply thousands of objects. Events keep their order.
 */
export type ApplyWrites = {
  /** Replaces all rows of a Permission manifest, which the column `owner` names. */
  replacePermissions(owner: string, rows: readonly PermissionInput[]): void
  record(event: AuditEvent): void
  /**
   * Stores the collected rows and events. Must run before the transaction commits, and before other code writes audit
   * events or deletes Gateways in the transaction.
   */
  flush(): Promise<void>
}

export function createApplyWrites(q: Query): ApplyWrites {
  const permissions = new Map<string, readonly PermissionInput[]>()
  const events: AuditEvent[] = []
  return {
    replacePermissions: (owner, rows) => void permissions.set(owner, rows),
    record: (event) => void events.push(event),
    async flush() {
      const written = new Map(permissions)
      permissions.clear()
      if (written.size > 0) await replaceOwnedPermissions(q, written)
      if (events.length > 0) await recordEvents(q, events.splice(0))
    },
  }
}
