import type { Logger } from 'pino'
import type { Clock } from '../../../core/state/clock.ts'
import { isEarlier } from '../../../core/state/state-order.ts'
import type { KillAnnouncement, StateOrder } from '../../../core/wire/gateway/kill.ts'
import type { AckBody } from '../../../core/wire/gateway/sync.ts'
import type { Query } from '../../db/query.ts'
import { listLiftedSince, listSettled } from '../../features/kill-switch/rows.ts'
import type { EpochRaiser } from '../epoch-raiser.ts'
import type { Peer } from '../peer.ts'
import type { KillProof } from './proof.ts'
import type { KillState } from './state.ts'

/**
 * Compares the kill state that a gateway reports with the kill state of this replica, because the gateway may report
 * kill switches that this replica does not have.
 */
export type KillReports = {
  compare(peer: Peer, body: Pick<AckBody, 'kill_order' | 'announced'>): void
}

export type KillReportsDeps = {
  readonly db: Query
  readonly state: KillState
  readonly clock: Clock
  readonly proof: KillProof
  readonly raiseEpoch: EpochRaiser
  readonly refresh: () => Promise<void>
  readonly broadcast: () => void
  readonly store: (announcement: KillAnnouncement) => void
  readonly settleLifted: (announcement: KillAnnouncement) => void
  readonly sendSettled: (peer: Peer, ids: readonly string[]) => void
  readonly log: Pick<Logger, 'error'>
}

/**
 * Maximum age of an announcement to adopt, in milliseconds. Records of settled announcements are kept slightly longer,
 * so that an old announcement cannot be adopted again.
 */
const MAX_AGE_MS = 80 * 86_400_000

export function createKillReports(deps: KillReportsDeps): KillReports {
  const { state, clock, proof, refresh } = deps

  /**
   * Adopts kill switches that another replica announced but could not store, and that a gateway returns. Only the
   * database shows whether such a kill switch was lifted since. Therefore, this replica does not send the kill switch
   * to other gateways while the database does not answer. The kill switch stays in force in the gateway that returned
   * it, and this gateway returns it again later.
   */
  async function adopt(peer: Peer, given: readonly KillAnnouncement[]): Promise<void> {
    const unknown = given.filter((each) => !state.isAnnounced(each.id) && proof.isGenuine(each))
    if (unknown.length === 0) return
    const settled = [...(await settledOf(unknown)), ...(await liftedOf(unknown))]
    const open = unknown.filter(({ id }) => !settled.includes(id) && !state.isAnnounced(id))
    if (open.length > 0) take(open)
    if (settled.length === 0) return
    // Reads the kill state again, because this replica may have read it before the announcements were settled.
    await refresh()
    deps.sendSettled(peer, settled)
  }

  function take(open: readonly KillAnnouncement[]): void {
    for (const announcement of open) state.announce(announcement)
    deps.broadcast()
    for (const announcement of open) deps.store(announcement)
  }

  async function liftedOf(announcements: readonly KillAnnouncement[]): Promise<readonly string[]> {
    const lifted = await listLiftedSince(deps.db, announcements)
    for (const announcement of lifted) deps.settleLifted(announcement)
    return lifted.map(({ id }) => id)
  }

  async function settledOf(announcements: readonly KillAnnouncement[]): Promise<readonly string[]> {
    const ids = announcements.map(({ id }) => id)
    const known = await listSettled(deps.db, ids)
    const isOld = ({ entry }: KillAnnouncement) => clock.nowMs() - Date.parse(entry.since) > MAX_AGE_MS
    return announcements.filter((each) => known.includes(each.id) || isOld(each)).map(({ id }) => id)
  }

  /**
   * Reads the kill state again when a gateway reports a later state than this replica has. Begins a new epoch if the
   * database returned to an earlier state.
   */
  async function catchUp(order: StateOrder): Promise<void> {
    const isBehind = () => {
      const own = state.order()
      return own !== null && isEarlier(own, order)
    }
    if (!isBehind()) return
    await refresh()
    if (isBehind() && (await deps.raiseEpoch({ kill: order, config: null }))) await refresh()
  }

  return {
    compare(peer, { kill_order: order, announced = [] }) {
      const failed = (error: unknown) =>
        deps.log.error(
          { err: error, gateway: peer.name },
          'kill switches that the gateway reported could not be compared with those of the database; they stay active at the gateway',
        )
      if (announced.length > 0) adopt(peer, announced).catch(failed)
      if (order !== undefined) catchUp(order).catch(failed)
    },
  }
}
