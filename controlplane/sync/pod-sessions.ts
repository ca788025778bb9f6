import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { Clock } from '../../core/state/clock.ts'
import type { Instance } from '../../core/wire/gateway/instance.ts'
import type { SidecarPrincipal } from '../http/route.ts'
import type { Peer } from './peer.ts'
import type { PeerRegistry } from './peer-registry.ts'
import { createSerial } from './serial.ts'

/**
 * Ends the sessions of sidecars whose pod is deleted, whose Gateway does not admit the pod's namespace, or whose token
 * the cluster rejects. Sessions continue while the cluster or the database is unavailable. Sends each sidecar the
 * instance of its pod.
 */
export type PodSessions = Disposable & {
  /**
   * Ends the sessions of pods that are deleted or no longer admitted by their Gateway. Sends instances to sidecars that
   * have none, or whose Sandbox was adopted by a SandboxClaim.
   */
  refresh(): Promise<void>
  /** Sends a sidecar that has connected the instance of its pod. */
  greet(peer: Peer): Promise<void>
  /**
   * Replaces the token of the session when a call of the same pod presents another token, because the kubelet has
   * rotated the token.
   */
  seen(owner: SessionOwner): void
}

export type SessionOwner = Pick<Peer, 'processId' | 'gatewayId'> & {
  readonly sidecar: SidecarPrincipal | null
}

/**
 * `ended` returns a function that returns the reason why a pod may not act, or null for a pod that may act.
 * `instances` returns the instances of pods by their UIDs. Implemented by `PodIdentities`.
 */
export type PodPresence = {
  ended(pods: readonly SessionPod[]): Promise<(pod: SessionPod) => string | null>
  instances(podUids: readonly string[]): Promise<ReadonlyMap<string, Instance>>
}
type SessionPod = { readonly podUid: string; readonly gatewayId: string; readonly namespace: string }

export type PodSessionsDeps = {
  readonly peerRegistry: PeerRegistry
  readonly pods: PodPresence
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'debug'>
  readonly timing?: PodSessionTiming
}

/**
 * Intervals in milliseconds. `checkMs`: interval between two checks of all sessions. `reviewMs`: maximum age of a
 * session's token review.
 */
export type PodSessionTiming = { readonly reviewMs: number; readonly checkMs: number }

/** Maximum number of concurrent token reviews. A review without an answer ends after 5 s. */
const REVIEWS_IN_FLIGHT = 16

const TIMING: PodSessionTiming = { reviewMs: 5 * 60_000, checkMs: 30_000 }

export function createPodSessions(deps: PodSessionsDeps): PodSessions {
  const { peerRegistry, pods, clock, log, timing = TIMING } = deps
  const sessions = () => [...peerRegistry.peers.values()].filter(isSidecar)
  const isDue = ({ pod }: SidecarPeer) => clock.monotonicMs() - pod.reviewedAtMs >= timing.reviewMs

  function end(peer: SidecarPeer, why: string): void {
    const { podUid } = peer.pod.sidecar
    log.info({ gateway: peer.name, process: peer.processId, podUid }, `session of a sidecar ended: ${why}`)
    peer.cut()
  }

  const review = createSerial(async () => {
    const due = sessions().filter(isDue).values()
    const workers = Array.from({ length: REVIEWS_IN_FLIGHT }, async () => {
      for (const peer of due) await reviewOne(peer).catch(notReviewed)
    })
    await Promise.all(workers)
  })

  /**
   * Logs a token review that failed. The failure does not end the session, because the next check repeats the
   * review.
   */
  function notReviewed(error: unknown): void {
    log.debug({ err: error }, 'token of a sidecar not reviewed')
  }

  async function reviewOne(peer: SidecarPeer): Promise<void> {
    const { sidecar } = peer.pod
    const state = await sidecar.review()
    // A changed `sidecar` means that the token was rotated during the review. The newer token gets a review of its
    // own.
    if (peer.pod.sidecar !== sidecar) return
    if (state === 'invalid') end(peer, 'the cluster rejects its token')
    if (state === 'stale') renew(peer)
    if (state === 'valid') peer.pod.reviewedAtMs = clock.monotonicMs()
  }

  const endSessions = createSerial(async () => {
    const checked = sessions().map((peer) => ({ peer, pod: podOf(peer) }))
    const reasonOf = await pods.ended(checked.map(({ pod }) => pod))
    for (const { peer, pod } of checked) {
      const reason = reasonOf(pod)
      if (reason !== null) end(peer, reason)
    }
  })
  const sendAdoptions = createSerial(() => sendInstances(sessions().filter(canBeAdopted), pods))

  const timer = setInterval(() => void review(), timing.checkMs)
  return {
    // The refresh does not wait for the check of all sessions, because a sidecar must be notified within 2 s that its
    // Sandbox was adopted.
    async refresh() {
      await Promise.all([sendAdoptions(), endSessions()])
    },
    async greet(peer) {
      if (isSidecar(peer)) await sendInstances([peer].filter(canBeAdopted), pods)
    },
    seen({ processId, gatewayId, sidecar }) {
      const peer = peerRegistry.peers.get(processId)
      if (sidecar === null || peer === undefined || !isSidecar(peer)) return
      const { tokenId, podUid } = peer.pod.sidecar
      if (peer.gatewayId !== gatewayId || podUid !== sidecar.podUid || tokenId === sidecar.tokenId) return
      peer.pod = { sidecar, reviewedAtMs: clock.monotonicMs() - sidecar.reviewAgeMs }
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

type SidecarPeer = Peer & { pod: NonNullable<Peer['pod']> }

function podOf({ gatewayId, pod }: SidecarPeer): SessionPod {
  const { podUid, namespace } = pod.sidecar
  return { podUid, gatewayId, namespace }
}

function isSidecar(peer: Peer): peer is SidecarPeer {
  return peer.pod !== null
}

/**
 * Reports whether a SandboxClaim can still adopt the pod of the sidecar: no instance was sent to the sidecar yet, or the sent
 * instance is a Sandbox without a claim.
 */
function canBeAdopted({ sentInstance }: SidecarPeer): boolean {
  return sentInstance === null || (sentInstance.sandbox !== undefined && sentInstance.claim === undefined)
}

async function sendInstances(
  peers: readonly SidecarPeer[],
  pods: Pick<PodPresence, 'instances'>,
): Promise<void> {
  if (peers.length === 0) return
  const found = await pods.instances([...new Set(peers.map(({ pod }) => pod.sidecar.podUid))])
  for (const peer of peers) {
    const instance = found.get(peer.pod.sidecar.podUid)
    // Another read may have sent a newer instance, with a claim, in the meantime. A pod keeps its first claim, so the
    // result of the older read is discarded.
    if (instance === undefined || !canBeAdopted(peer) || isDeepStrictEqual(instance, peer.sentInstance))
      continue
    peer.sentInstance = instance
    peer.send({ type: 'instance', instance })
  }
}

/** Ends the stream, so that the sidecar connects again with the token that the kubelet has renewed. */
function renew(peer: Peer): void {
  peer.send({ type: 'goaway', after_ms: 0 })
  peer.end()
}
