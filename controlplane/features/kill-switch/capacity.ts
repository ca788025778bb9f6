import { normaliseScope } from '../../../core/decision/kill-switch/kill-switch.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { KillAnnouncement } from '../../../core/wire/gateway/kill.ts'
import type { Hub } from '../../sync/hub.ts'
import { keptOf } from '../../sync/kill-switch/views.ts'

/**
 * Maximum number of pending kill switches of one caller and source while the database does not answer. A kill switch of
 * the scope `all` is admitted beyond the limit.
 */
const MAX_PENDING = 100

/**
 * Bounds the kill switches of one caller that are not stored in the database yet. At the limit, a new kill switch
 * replaces a pending kill switch of the same scope. Throws `not_ready` when no pending kill switch has this scope.
 * The scope `all` is exempt, and other callers are not affected.
 */
export function makeRoom(
  kill: Pick<Hub['kill'], 'retract'>,
  pending: readonly KillAnnouncement[],
  { scope, own }: { readonly scope: string; readonly own: string | undefined },
): void {
  if (pending.length < MAX_PENDING || pending.some(({ id }) => id === own)) return
  const same = pending.filter(({ entry }) => normaliseScope(entry.scope) === scope)
  if (same.length > 0) kill.retract(same.map(({ id }) => id))
  if (same.length > 0 || scope === 'all') return
  throw new ChaperoneError('not_ready', {
    detail: `This kill switch is not in force, because the database does not answer and ${pending.length} kill switches, the maximum, are already in force without being stored. Try again when the database answers. To stop everything now, activate a kill switch with the scope all, which is always accepted.`,
    retryAfterS: 5,
  })
}

/**
 * Returns the warning for the kill switch `id`, which is in force but not stored. The warning states how many
 * kill switches are pending, and in which case they are lost.
 */
export function notStored(pending: readonly KillAnnouncement[], id: string): string {
  const isLost = pending.some((each) => each.id === id) && !keptOf(pending).some((each) => each.id === id)
  return [
    'The kill switch is in force on the gateways that are connected to this replica, but it is not stored yet, so gateways of other replicas do not have it.',
    pending.length > 1 ? `${pending.length} kill switches of this replica are not stored yet.` : '',
    isLost ? NOT_KEPT : KEPT,
  ]
    .filter((text) => text !== '')
    .join(' ')
}

const KEPT =
  'The kill switch is stored as soon as the database answers. If this process ends before, the next replica to which an affected gateway connects stores it. It is lost only if all affected gateways end too. Check `chaperone kill status` later.'
const NOT_KEPT =
  'The kill switch is stored as soon as the database answers. Gateways keep a limited number of kill switches for the next replica, and this one is not among them, so it is lost if this process ends before. Activate the scope all, which gateways keep, and check `chaperone kill status` later.'
