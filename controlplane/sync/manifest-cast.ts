import { LIMITS } from '../../core/wire/limits.ts'
import { currentVersion } from '../store/config-version.ts'
import type { Db } from '../store/query.ts'
import type { Clock } from './clock.ts'
import type { SectionLibrary } from './library.ts'
import type { Peer } from './peer.ts'
import type { Roster } from './roster.ts'
import { createSerial } from './serial.ts'
import { signBeat, signManifest } from './signature.ts'

/** Configuration on its way to the gateways: which sections there are, and that the control plane still lives. */
export type ManifestCast = {
  /** Looks whether there is a newer version; sends manifests to the gateways that it concerns. */
  refresh(): Promise<void>
  /** Rejects when the database cannot be read and the gateway is not known yet. */
  greet(peer: Peer): Promise<void>
  beat(): void
}

export type ManifestCastDeps = {
  readonly db: Db
  readonly roster: Roster
  readonly library: SectionLibrary
  readonly clock: Clock
}

export function createManifestCast({ db, roster, library, clock }: ManifestCastDeps): ManifestCast {
  function send(peer: Peer): void {
    const set = library.of(peer.gatewayId, peer.agent)
    if (set === null) {
      // Its row is gone: there is nothing to tell this gateway any more.
      peer.send({ type: 'goaway', after_ms: LIMITS.beatMs })
      peer.end()
      return
    }
    // Read before its agent was registered: the first rules of a sidecar must not say that nobody knows it.
    if (peer.agent !== null && peer.sentVersion === null && set.texts.get('agents') === '[]') return
    const hashes = JSON.stringify(set.hashes)
    if (hashes === peer.sentHashes) return
    peer.sentHashes = hashes
    peer.sentVersion = set.version
    peer.send(signManifest(peer.syncKey, set.version, set.hashes))
  }

  const refresh = createSerial(async () => {
    if (library.version === (await currentVersion(db))) return
    await library.reload()
    for (const peer of roster.peers.values()) {
      // Whoever came meanwhile may be newer than what was read: its greeting reads once more and says what there is.
      const isUnread = peer.sentVersion === null && library.of(peer.gatewayId, peer.agent) === null
      if (!isUnread) send(peer)
    }
  })

  return {
    refresh,
    async greet(peer) {
      // A gateway that enrolled a moment ago, or the agent of a sidecar, may be faster than the word of it.
      if (peer.agent !== null || library.of(peer.gatewayId) === null) await refresh()
      send(peer)
    },
    beat() {
      const until = new Date(clock.nowMs() + LIMITS.leaseHighRiskMs).toISOString()
      for (const peer of roster.peers.values()) {
        if (peer.sentVersion !== null) peer.send(signBeat(peer.syncKey, peer.sentVersion, until))
      }
    },
  }
}
