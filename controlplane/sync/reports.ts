import type { Logger } from 'pino'
import type { AckBody, StatusBody } from '../../core/wire/gateway/sync.ts'
import type { ProcessWord } from './process-words-store.ts'
import type { Census } from './census.ts'
import type { Clock } from './clock.ts'
import type { KillCast } from './kill-switch/broadcast.ts'
import type { ManifestCast } from './sections/broadcast.ts'
import type { Peer } from './peer.ts'

export type ReportsDeps = {
  readonly kill: Pick<KillCast, 'ack'>
  readonly manifests: Pick<ManifestCast, 'reported'>
  readonly census: Pick<Census, 'changed'>
  readonly clock: Clock
  readonly log: Logger
}

/** Enough for every message of ours; a gateway does not decide how much of it everybody reads. */
const MAX_ERROR = 2_000

/** Makes what a connected gateway process said of itself known here, and to the other replicas. */
export function applyWord(peer: Peer, word: ProcessWord, deps: ReportsDeps): void {
  peer.lastSeenMs = deps.clock.nowMs()
  if (word.kind === 'ack') applyAck(peer, word.body, deps)
  else applyStatus(peer, word.body)
}

function applyAck(peer: Peer, body: AckBody, deps: ReportsDeps): void {
  const { kill, census, log } = deps
  if (body.version !== undefined) {
    peer.appliedVersion = body.version
    peer.rejected = null
  }
  const before = peer.killState
  kill.ack(peer, body)
  // Another replica may be counting.
  if (peer.killState !== before) census.changed()
  if (body.config_order !== undefined) {
    deps.manifests.reported(peer, body.config_order).catch((error: unknown) => {
      log.warn({ gateway: peer.name, err: error }, 'configuration not compared with the one of a gateway')
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
}
