import type { Logger } from 'pino'
import type { Clock } from '../../core/state/clock.ts'
import type { AckBody, StatusBody } from '../../core/wire/gateway/sync.ts'
import type { KillBroadcaster } from './kill-switch/broadcaster.ts'
import type { Peer } from './peer.ts'
import type { ProcessRegistry } from './processes/registry.ts'
import type { ProcessMessage } from './replica-mailbox-store.ts'
import type { SectionBroadcaster } from './sections/broadcaster.ts'

export type ReportsDeps = {
  readonly kill: Pick<KillBroadcaster, 'ack'>
  readonly sections: Pick<SectionBroadcaster, 'reported'>
  readonly processRegistry: Pick<ProcessRegistry, 'changed'>
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Maximum number of characters that are stored of a reported error. Errors of the product are shorter; a compromised
 * gateway may send longer texts.
 */
const MAX_ERROR = 2_000

/**
 * Applies a message of a process that is connected to this replica. Reports an acknowledgement of the kill state to
 * other replicas.
 */
export function applyMessage(peer: Peer, message: ProcessMessage, deps: ReportsDeps): void {
  peer.lastSeenMs = deps.clock.nowMs()
  if (message.kind === 'ack') applyAck(peer, message.body, deps)
  else applyStatus(peer, message.body)
}

function applyAck(peer: Peer, body: AckBody, deps: ReportsDeps): void {
  const { kill, processRegistry, log } = deps
  if (body.version !== undefined) {
    peer.appliedVersion = body.version
    peer.rejected = null
  }
  peer.hostedWork = unlessEqual(body.hosted_work ?? null, peer.hostedWork)
  const before = peer.killState
  kill.ack(peer, body)
  // Reports the changed kill state at once, because another replica may be counting acknowledgements.
  if (peer.killState !== before) processRegistry.changed()
  if (body.config_order !== undefined) {
    deps.sections.reported(peer, body.config_order).catch((error: unknown) => {
      log.warn(
        { gateway: peer.name, err: error },
        'the configuration that the gateway reported could not be compared with that of the database; the gateway keeps its configuration',
      )
    })
  }
  if (body.rejected === undefined) return
  peer.rejected = body.rejected.error.slice(0, MAX_ERROR)
  log.error(
    { gateway: peer.name, process: peer.processId, ...body.rejected, error: peer.rejected },
    'gateway refused its configuration',
  )
}

function applyStatus(peer: Peer, body: StatusBody): void {
  peer.agents = body.agents
  peer.uptimeSeconds = body.uptime_seconds
  peer.appliedVersion = body.applied_version ?? peer.appliedVersion
  peer.conditions = body.conditions ?? []
  peer.warnings = body.warnings ?? []
  peer.hostedWork = unlessEqual(body.hosted_work ?? null, peer.hostedWork)
}

/**
 * Returns the known report if the message contains no report or an equal report. The same object shows that nothing
 * changed, so that only changes are written to the database.
 */
function unlessEqual(fresh: Peer['hostedWork'], known: Peer['hostedWork']): Peer['hostedWork'] {
  return fresh === null || JSON.stringify(fresh) === JSON.stringify(known) ? known : fresh
}
