import type { Logger } from 'pino'
import { ChaperoneError } from '../../core/errors.ts'
import type { KnownPod, PodIdentityReport, PodRef } from '../../core/wire/operator.ts'
import { sha256, syncKeyOf } from '../crypto/tokens.ts'
import type { IdentifyPod, PodPrincipal } from '../http/auth-gateway.ts'
import type { TokenState } from '../http/route.ts'
import {
  findPodIdentity,
  listDeletedPods,
  listPodIdentities,
  type PodIdentityRow,
  putPodIdentities,
} from '../store/pod-identities.ts'
import type { Db } from '../store/query.ts'
import { bindPod, type PodBinding } from './pod-binding.ts'
import type { ReviewedPod, TokenReview } from './token-review.ts'
import { type TokenTimes, tokenTimes } from './token-times.ts'
import { createUnknownPods } from './unknown-pods.ts'

/** Who a pod is, by its token and the operator's report; in the database, so that every replica and a restart agree. */
export type PodIdentities = AsyncDisposable & {
  readonly identify: IdentifyPod
  /** Those of these pods that are deleted; cached identities of deleted pods are discarded. */
  deleted(podUids: readonly string[]): Promise<ReadonlySet<string>>
  /** See UnknownPods. */
  refused(): readonly PodRef[]
}

/** The operator's side: what it reports, and what is known. */
export type PodReports = {
  put(pods: readonly PodIdentityReport[]): Promise<void>
  list(): Promise<readonly KnownPod[]>
}

export type PodIdentitiesDeps = {
  readonly db: Db
  readonly orgId: string
  readonly review: TokenReview
  readonly log: Pick<Logger, 'warn'>
}

/** Each stream has a review of its own; the small calls beside it use a cached one. Deletion evicts at once. */
const REVIEW_TTL_MS = 5 * 60_000
const BAD_REVIEW_TTL_MS = 10_000
const MAX_CACHED = 20_000
/** A token that is about to expire counts as expired: its rejection would say nothing about the pod. */
const EXPIRY_MARGIN_MS = 60_000

type Reviewed = { readonly untilMs: number; readonly pod: ReviewedPod | null }
type Bound = { readonly untilMs: number; readonly podUid: string; readonly binding: PodBinding }
/** One presented token. */
type Presented = { readonly token: string; readonly hash: string; readonly times: TokenTimes }

export function createPodReports(db: Db): PodReports {
  return {
    // Deletion is final: of two reports of one UID in a batch it is the one that counts.
    put: (pods) => putPodIdentities(db, [...lastOfEach(pods).values()]),
    list: () => listPodIdentities(db),
  }
}

export function createPodIdentities(
  { db, orgId, review, log }: PodIdentitiesDeps,
  nowMs: () => number = () => performance.now(),
): PodIdentities {
  const reviewed = new Map<string, Reviewed>()
  const bound = new Map<string, Bound>()
  const unknown = createUnknownPods({ db, log, nowMs })

  async function reviewOf({ token, hash }: Presented, isFresh: boolean): Promise<ReviewedPod | null> {
    const known = reviewed.get(hash)
    if (known !== undefined && known.untilMs > nowMs() && !(isFresh && known.pod !== null)) return known.pod
    const pod = await review.review(token)
    if (reviewed.size >= MAX_CACHED) reviewed.clear()
    reviewed.set(hash, { pod, untilMs: nowMs() + (pod === null ? BAD_REVIEW_TTL_MS : REVIEW_TTL_MS) })
    return pod
  }

  async function bindingOf(
    pod: ReviewedPod,
    { hash, times }: Presented,
    isFresh: boolean,
  ): Promise<PodBinding> {
    const known = bound.get(hash)
    if (!isFresh && known !== undefined && known.untilMs > nowMs()) return known.binding
    bound.delete(hash)
    const row = await findPodIdentity(db, pod.uid, times.issuedAtS)
    if (row === undefined) throw await unknown.refusalOf(pod)
    unknown.reported(pod.uid)
    refuseForeign(pod, row)
    const binding = await db.tx((q) => bindPod(q, { orgId, pod, claims: row }))
    if (bound.size >= MAX_CACHED) bound.clear()
    bound.set(hash, { binding, podUid: pod.uid, untilMs: nowMs() + REVIEW_TTL_MS })
    return binding
  }

  async function stateOf(presented: Presented, podUid: string): Promise<TokenState> {
    const { expiresAtMs, issuedAtS } = presented.times
    if (expiresAtMs !== null && expiresAtMs - EXPIRY_MARGIN_MS <= Date.now()) return 'stale'
    const pod = await reviewOf(presented, true)
    if (pod?.uid !== podUid) return 'invalid'
    const row = await findPodIdentity(db, podUid, issuedAtS)
    if (row?.isDeleted === true) return 'invalid'
    return row?.isTokenReplaced === true ? 'stale' : 'valid'
  }

  async function identify(token: string, isFresh: boolean): Promise<PodPrincipal | undefined> {
    const presented = { token, hash: sha256(token).toString('hex'), times: tokenTimes(token) }
    const pod = await reviewOf(presented, isFresh)
    if (pod === null) return undefined
    const { agent, gatewayId, gatewayName } = await bindingOf(pod, presented, isFresh)
    return {
      ...{ podUid: pod.uid, agent, gatewayId, gatewayName },
      ...{ syncKey: syncKeyOf(token), tokenId: presented.hash },
      review: () => stateOf(presented, pod.uid),
    }
  }

  return {
    identify,
    async deleted(podUids) {
      const cached = [...bound.values()].map(({ podUid }) => podUid)
      const gone = new Set(await listDeletedPods(db, [...new Set([...podUids, ...cached])]))
      if (gone.size > 0) for (const [hash, { podUid }] of bound) if (gone.has(podUid)) bound.delete(hash)
      return gone
    },
    refused: unknown.refused,
    [Symbol.asyncDispose]: () => review.close(),
  }
}

function refuseForeign(pod: ReviewedPod, row: PodIdentityRow): void {
  const who = `Pod ${pod.namespace}/${pod.name}`
  if (row.namespace !== pod.namespace || row.name !== pod.name)
    throw forbidden(`${who} has the UID that was reported for ${row.namespace}/${row.name}`)
  if (row.isDeleted) throw forbidden(`${who} is deleted, and its token with it`)
  if (row.isTokenReplaced)
    throw forbidden(`${who} has a newer token; the sidecar reads it from the file that the kubelet renews`)
}

function lastOfEach(pods: readonly PodIdentityReport[]): ReadonlyMap<string, PodIdentityReport> {
  const byUid = new Map<string, PodIdentityReport>()
  for (const pod of pods) if (!byUid.get(pod.podUid)?.deleted) byUid.set(pod.podUid, pod)
  return byUid
}

function forbidden(detail: string): ChaperoneError {
  return new ChaperoneError('forbidden', { detail })
}
