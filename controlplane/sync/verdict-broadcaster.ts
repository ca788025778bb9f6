import type { Clock } from '../../core/state/clock.ts'
import type { DownMessage } from '../../core/wire/gateway/sync.ts'
import type { Db } from '../db/query.ts'
import { type AnsweredHold, listAnsweredHolds } from '../features/approvals/rows.ts'
import type { Peer } from './peer.ts'
import type { PeerRegistry } from './peer-registry.ts'
import { createSerial } from './serial.ts'
import { Throttle } from './throttle.ts'

/** Sends verdicts of approvers to the gateways that hold the requests. */
export type VerdictBroadcaster = Disposable & {
  /**
   * Sends the verdicts of the last 30 s to every connected process that may hold the request. Each verdict is sent
   * once.
   */
  refresh(): Promise<void>
  /**
   * Calls `refresh` at once for a single verdict, and with pauses of at most `MAX_PAUSE_MS` when many
   * verdicts arrive.
   */
  changed(): void
  /**
   * Sends the verdicts of the last ten minutes to a process that has connected. The process ignores verdicts for
   * requests that it does not hold.
   */
  greet(peer: Peer): Promise<void>
}

const RELAY_WINDOW_S = 30
const GREET_WINDOW_S = 600
const MAX_PAUSE_MS = 20

export type VerdictBroadcasterDeps = {
  readonly db: Db
  readonly peerRegistry: PeerRegistry
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly onFailed: (error: unknown) => void
}

export function createVerdictBroadcaster(deps: VerdictBroadcasterDeps): VerdictBroadcaster {
  const { db, peerRegistry, clock, onFailed } = deps
  let sent = new Set<string>()
  const refresh = createSerial(async () => {
    const answered = await listAnsweredHolds(db, { withinS: RELAY_WINDOW_S })
    for (const hold of answered.filter((one) => !sent.has(keyOf(one)))) {
      for (const peer of peerRegistry.of(hold.gatewayId))
        if (isFor(hold, peer)) peer.send(verdictMessage(hold))
    }
    sent = new Set(answered.map(keyOf))
  })
  const throttle = new Throttle({
    work: () => refresh().catch(onFailed),
    clock,
    maxPauseMs: MAX_PAUSE_MS,
  })
  return {
    refresh,
    changed: () => throttle.request(),
    async greet(peer) {
      const answered = await listAnsweredHolds(db, { withinS: GREET_WINDOW_S, gatewayId: peer.gatewayId })
      for (const hold of answered) if (isFor(hold, peer)) peer.send(verdictMessage(hold))
    },
    [Symbol.dispose]: () => throttle[Symbol.dispose](),
  }
}

/** Returns whether the process may hold the request. A sidecar holds requests of its own agent only. */
function isFor({ agent }: AnsweredHold, peer: Peer): boolean {
  return peer.agent === null || peer.agent === agent
}

function verdictMessage(hold: AnsweredHold): DownMessage {
  const { id, status, via, note, respondedBy, at } = hold
  return { type: 'verdict', verdict: { id, status, by: respondedBy, via, at: at.toISOString(), note } }
}

function keyOf(hold: AnsweredHold): string {
  return `${hold.id} ${hold.status}`
}
