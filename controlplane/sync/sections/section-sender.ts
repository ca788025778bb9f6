import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { Peer } from '../peer.ts'
import type { SectionLibrary } from './library.ts'
import { hasSameHashes } from './sections.ts'
import { signSectionIndex } from './signature.ts'

/** Sends the section index of the read configuration to single processes. */
export type SectionSender = {
  /** Returns whether the process has received no sections because the read configuration has no gateway for it. */
  isUnread(peer: Peer): boolean
  /** Builds the sections of the process in slices, between which the event loop does other work. */
  prepare(peer: Peer): Promise<void>
  /** Sends the section index if it changed. Ends the stream of a gateway that was deleted. */
  send(peer: Peer): void
}

export function createSectionSender(
  library: Pick<SectionLibrary, 'of' | 'order' | 'prepare'>,
): SectionSender {
  const setOf = ({ gatewayId, agent, greeting: { protocol } }: Peer) =>
    library.of(gatewayId, { agent, protocol })
  return {
    prepare: ({ gatewayId, agent, greeting: { protocol } }) =>
      library.prepare(gatewayId, { agent, protocol }),
    isUnread: (peer) => peer.sentVersion === null && setOf(peer) === null,
    send(peer) {
      const set = setOf(peer)
      if (set === null) {
        peer.send({ type: 'goaway', after_ms: LIMITS.beatMs })
        peer.end()
        return
      }
      // When the section `agents` is empty, the configuration was read before the sidecar's agent was registered. In
      // this case, sends no sections yet, because the first sections of a sidecar must contain its agent.
      if (peer.agent !== null && peer.sentVersion === null && set.texts.get('agents') === '[]') return
      const epoch = library.order?.epoch
      const sent = peer.sentSections
      if (sent !== null && sent.epoch === epoch && hasSameHashes(sent, set)) return
      peer.sentSections = { epoch, hashes: set.hashes }
      peer.sentVersion = set.version
      peer.send(signSectionIndex(peer.syncKey, set, library.order))
    },
  }
}
