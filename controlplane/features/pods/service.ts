import type { Logger } from 'pino'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Instance } from '../../../core/wire/gateway/instance.ts'
import type { KnownPod, PodIdentityReport, PodRef } from '../../../core/wire/operator/pods.ts'
import { sha256Hex } from '../../../runtime/sha256.ts'
import { tokenTimes } from '../../crypto/token-times.ts'
import { syncKeyOf } from '../../crypto/tokens.ts'
import { labelsOf } from '../../db/namespaces.ts'
import type { Db } from '../../db/query.ts'
import type { IdentifyPod, PodPrincipal, TokenPresenter } from '../../http/auth/gateway-auth.ts'
import type { TokenState } from '../../http/route.ts'
import { URGENT_MS, withinMs } from '../../urgent.ts'
import type { PresentedToken, ReviewedTokens } from '../authentication/cluster/reviewed-tokens.ts'
import type { ReviewedPod } from '../authentication/cluster/token-review.ts'
import { getGateways } from '../gateways/rows.ts'
import { admitsAgents, bindPod, type PodBinding } from './binding.ts'
import { listInstances } from './rows.ts'
import {
  findPodIdentity,
  listDeletedPods,
  listPodIdentities,
  type PodIdentityRow,
  putPodIdentities,
  setServiceAccount,
} from './store.ts'
import { createUnknownPods } from './unknown-pods.ts'

/**
 * Identifies pods by their tokens and the operator's reports. Identities are stored in the database, so that all
 * replicas have the same identities.
 */
export type PodIdentities = {
  readonly identify: IdentifyPod
  /**
   * Returns a function that gives the reason why a pod may not act: the pod or its Gateway is deleted, or the Gateway
   * does not admit the pod's namespace. The function returns null for a pod that may act. Evicts the cached identities
   * of pods that may not act.
   */
  ended(pods: readonly BoundPod[]): Promise<(pod: BoundPod) => string | null>
  /** Returns the instances of pods by their UIDs. Omits pods that are not reported or are deleted. */
  instances(podUids: readonly string[]): Promise<ReadonlyMap<string, Instance>>
  /** Returns the pods that were refused within the last minute because the operator has not reported them yet. */
  refused(): readonly PodRef[]
}

/** The pod and Gateway to which a session or a cached identity is bound. */
export type BoundPod = { readonly podUid: string; readonly gatewayId: string; readonly namespace: string }

/** Stores the operator's pod reports and lists the known pods. */
export type PodReports = {
  put(pods: readonly PodIdentityReport[]): Promise<void>
  list(): Promise<readonly KnownPod[]>
}

export type PodIdentitiesDeps = {
  readonly db: Db
  readonly orgId: string
  readonly tokens: ReviewedTokens
  readonly log: Pick<Logger, 'warn'>
}

const MAX_CACHED = 20_000
/**
 * Cache time of a token review in milliseconds. A new stream always requires a new token review; other calls use a
 * cached review. When a pod is deleted, its review is evicted at once.
 */
const REVIEW_TTL_MS = 5 * 60_000
const CALL = { maxAgeMs: REVIEW_TTL_MS, survivesSilence: true }
/**
 * Options of token reviews for acknowledgements of kill switches. An acknowledgement must be counted within 2 s, so a
 * cached review of at most `urgentMaxAgeMs` is used when the cluster does not answer in time.
 */
const URGENT_CALL = { ...CALL, urgentMaxAgeMs: REVIEW_TTL_MS }
/** Maximum clock difference in milliseconds between the cluster and this machine. */
const EXPIRY_MARGIN_MS = 60_000

type Bound = BoundPod & { readonly untilMs: number; readonly binding: PodBinding }
type Presented = PresentedToken & { readonly issuedAtS: number | null }

export function createPodReports(db: Db): PodReports {
  return {
    // A deletion is final, so a report of a deletion takes precedence over other reports of the same UID in a batch.
    put: (pods) => putPodIdentities(db, [...lastOfEach(pods).values()]),
    list: () => listPodIdentities(db),
  }
}

export function createPodIdentities(
  { db, orgId, tokens, log }: PodIdentitiesDeps,
  nowMs: () => number = () => performance.now(),
): PodIdentities {
  const bound = createBindingCache(nowMs)
  const unknown = createUnknownPods({ db, log, nowMs })

  async function bindingOf(
    pod: ReviewedPod,
    { hash, issuedAtS }: Presented,
    { isFresh, isUrgent = false }: Pick<TokenPresenter, 'isFresh' | 'isUrgent'>,
  ): Promise<PodBinding> {
    const known = bound.get(hash)
    if (!isFresh && known !== undefined && known.untilMs > nowMs()) return known.binding
    const asked = readBinding(pod, { hash, issuedAtS }).catch((error: unknown) => {
      // Evicts the binding only when the database rejects the pod. While the database is unavailable, acknowledgements
      // of kill switches use the cached binding.
      if (isAnswer(error)) bound.delete(hash)
      throw error
    })
    if (!isUrgent || known === undefined) return asked
    return withinMs(asked, URGENT_MS).catch((error: unknown) => lastBinding(error, known))
  }

  async function readBinding(
    pod: ReviewedPod,
    { hash, issuedAtS }: Pick<Presented, 'hash' | 'issuedAtS'>,
  ): Promise<PodBinding> {
    const cache = bound.reading()
    const row = await findPodIdentity(db, pod.uid, issuedAtS)
    if (row === undefined) throw await unknown.refusalOf(pod)
    unknown.reported(pod.uid)
    refuseForeign(pod, row)
    const binding = await db.tx(async (q) => {
      await setServiceAccount(q, pod.uid, pod.serviceAccount)
      return bindPod(q, { orgId, pod, claims: row })
    })
    cache(hash, { binding, podUid: pod.uid, namespace: pod.namespace, gatewayId: binding.gatewayId })
    return binding
  }

  async function stateOf(presented: Presented, podUid: string): Promise<TokenState> {
    const { subject: pod } = await tokens.of(presented, { maxAgeMs: 0 })
    if (pod?.uid !== podUid) return isExpired(presented) ? 'stale' : 'invalid'
    const row = await findPodIdentity(db, podUid, presented.issuedAtS)
    if (row?.isDeleted === true) return 'invalid'
    return row?.isTokenReplaced === true ? 'stale' : 'valid'
  }

  async function identify(
    token: string,
    { isFresh, isUrgent = false, address }: TokenPresenter,
  ): Promise<PodPrincipal | undefined> {
    const presented = { token, hash: sha256Hex(token), address, ...tokenTimes(token) }
    const use = isUrgent ? URGENT_CALL : CALL
    const { subject: pod, ageMs } = await tokens.of(presented, isFresh ? { maxAgeMs: 0 } : use)
    if (pod === null) return undefined
    const { agent, gatewayId, gatewayName } = await bindingOf(pod, presented, { isFresh, isUrgent })
    return {
      podUid: pod.uid,
      namespace: pod.namespace,
      agent,
      gatewayId,
      gatewayName,
      syncKey: syncKeyOf(token),
      tokenId: presented.hash,
      reviewAgeMs: ageMs,
      review: () => stateOf({ ...presented, address: null }, pod.uid),
    }
  }

  return {
    identify,
    ended: (pods) => bound.evict((cached) => readEnded(db, [...pods, ...cached])),
    instances: (podUids) => listInstances(db, podUids),
    refused: unknown.refused,
  }
}

/** Caches the pod to which the token of a recent call is bound, by the hash of the token. */
function createBindingCache(nowMs: () => number) {
  const bound = new Map<string, Bound>()
  let evictions = 0
  return {
    get: (hash: string) => bound.get(hash),
    delete: (hash: string) => bound.delete(hash),
    /**
     * Returns a function that caches a row. `reading` must be called before the row is read. If an eviction occurs
     * after this call, the returned function caches nothing, because the pod may have been deleted after its row was
     * read.
     */
    reading() {
      const before = evictions
      return (hash: string, read: Omit<Bound, 'untilMs'>) => {
        if (evictions !== before) return
        if (bound.size >= MAX_CACHED) bound.clear()
        bound.set(hash, { ...read, untilMs: nowMs() + REVIEW_TTL_MS })
      }
    },
    /**
     * Evicts the bindings of pods that may not act. `read` resolves to a function that gives the reason why a pod may
     * not act, or null. Resolves to the same function.
     */
    async evict(read: (cached: readonly Bound[]) => Promise<(pod: BoundPod) => string | null>) {
      evictions++
      const reasonOf = await read([...bound.values()])
      for (const [hash, cached] of bound) if (reasonOf(cached) !== null) bound.delete(hash)
      return reasonOf
    },
  }
}

/**
 * Returns the cached binding when the database does not answer. Rethrows the error when the error rejects the pod.
 */
function lastBinding(error: unknown, { binding }: Bound): PodBinding {
  if (isAnswer(error)) throw error
  return binding
}

/**
 * Returns whether the error rejects the pod. An error of an unavailable database (`not_ready`) does not reject the
 * pod.
 */
function isAnswer(error: unknown): boolean {
  return error instanceof ChaperoneError && error.code !== 'not_ready'
}

async function readEnded(db: Db, pods: readonly BoundPod[]): Promise<(pod: BoundPod) => string | null> {
  if (pods.length === 0) return () => null
  const deleted = new Set(await listDeletedPods(db, [...new Set(pods.map(({ podUid }) => podUid))]))
  const gateways = await getGateways(db, [...new Set(pods.map(({ gatewayId }) => gatewayId))])
  const byId = new Map(gateways.map((gateway) => [gateway.id, gateway]))
  const labels = await labelsOf(db, [...new Set(pods.map(({ namespace }) => namespace))])
  return ({ podUid, gatewayId, namespace }) => {
    if (deleted.has(podUid)) return 'its pod is deleted'
    const gateway = byId.get(gatewayId)
    if (gateway === undefined) return 'its Gateway is deleted'
    const asking = { name: namespace, labels: labels.get(namespace) }
    return admitsAgents(gateway, asking) ? null : 'its Gateway does not admit its namespace'
  }
}

/**
 * Returns whether the token has expired. The cluster rejects an expired token of an existing pod too, so the rejection
 * does not show that the pod is deleted.
 */
function isExpired({ expiresAtMs }: Presented): boolean {
  return expiresAtMs !== null && expiresAtMs - EXPIRY_MARGIN_MS <= Date.now()
}

function refuseForeign(pod: ReviewedPod, row: PodIdentityRow): void {
  const who = `Pod ${pod.namespace}/${pod.name}`
  if (row.namespace !== pod.namespace || row.name !== pod.name)
    throw forbidden(
      `${who} presents the UID of pod ${row.namespace}/${row.name}, so its token is refused. Delete the pod, so that its workload creates it again.`,
    )
  if (row.isDeleted) throw forbidden(`${who} is deleted, so its token is no longer valid.`)
  if (row.isTokenReplaced)
    throw forbidden(
      `${who} has a newer token, so this one is refused. The sidecar reads the newer one from the file that the kubelet renews.`,
    )
}

function lastOfEach(pods: readonly PodIdentityReport[]): ReadonlyMap<string, PodIdentityReport> {
  const byUid = new Map<string, PodIdentityReport>()
  for (const pod of pods) if (!byUid.get(pod.podUid)?.deleted) byUid.set(pod.podUid, pod)
  return byUid
}

function forbidden(detail: string): ChaperoneError {
  return new ChaperoneError('forbidden', { detail })
}
