import { tokenNeedKey } from '../../core/connectors/credentials/token-need.ts'
import { NarrowedTokenReply } from '../../core/wire/gateway/narrowed-token.ts'
import { SYNC_PATHS } from '../../core/wire/gateway/sync.ts'
import { createLru, type Lru } from '../collections/lru.ts'
import type { NarrowedAnswer, NarrowedTokenPort, TokenRequest } from '../pipeline/ports.ts'
import { type ControlClient, jsonOf } from './client/client.ts'
import { postWithin } from './client/post-within.ts'

/**
 * Outcome of a request for a narrowed token. `hit`: the cache had a valid token. `miss`: the control plane issued a
 * token. `whole`: the token of the Connector is sent instead of a narrowed one. `kept`: the control plane issued no
 * token, and the last token is still valid. `unavailable`: no token is valid.
 */
export type NarrowedOutcome = 'hit' | 'miss' | 'whole' | 'kept' | 'unavailable'

export type NarrowedTokensDeps = {
  readonly client: () => ControlClient
  readonly isConnected: () => boolean
  readonly clock: { nowMs(): number; monotonicMs(): number }
  readonly onAnswer: (outcome: NarrowedOutcome) => void
}

/** Cache of narrowed tokens. `size` is the number of cached answers of the control plane. */
export type NarrowedTokens = NarrowedTokenPort & { readonly size: number }

/** Time limit in milliseconds of the call that requests a token. Requests of agents wait during the call. */
const CALL_MS = 5_000
/** Time in milliseconds after a failed call. Until the time has passed, the last token is sent without another call. */
const PAUSE_MS = 2_000
/**
 * Maximum number of cached answers for each Connector (one for each combination of repositories and permissions), and
 * maximum number of Connectors with cached answers. Beyond a maximum, the least recently used answer or Connector is
 * evicted.
 */
const MAX_NEEDS = 256
const MAX_CONNECTORS = 1_000
const NOT_CONNECTED = 'The control plane, which issues tokens for single requests, is not connected.'
const NO_ANSWER = 'The control plane, which issues tokens for single requests, did not answer in time.'

type Kept = {
  readonly answer: Exclude<NarrowedAnswer, { kind: 'unavailable' }>
  /**
   * Monotonic time in milliseconds until which an answer without a token (`whole`) is used; 0 for an answer with a
   * token.
   */
  readonly untilMs: number
  /** Monotonic time in milliseconds before which the control plane is not called again. */
  retryAtMs: number
}

/**
 * Creates the cache of tokens that are narrowed to the actions of a request. The key is the Connector with the
 * repositories and permissions that these actions need (`TokenNeed`).
 */
export function createNarrowedTokens({
  client,
  isConnected,
  clock,
  onAnswer,
}: NarrowedTokensDeps): NarrowedTokens {
  const cache = createAnswers()
  const pending = new Map<string, Promise<NarrowedAnswer>>()

  /**
   * Reports whether the answer can still be used: its token is valid, and was issued for the current specification and
   * stored credential of the Connector (`source`). An answer of kind `whole` contains no token and can always be used.
   */
  function isUsable({ entry }: TokenRequest, { answer }: Kept): boolean {
    if (answer.kind === 'whole') return true
    const { source, expiresAtMs } = answer.token
    return source === entry.minted?.source && clock.nowMs() < expiresAtMs
  }

  function isCurrent(request: TokenRequest, kept: Kept): boolean {
    const { answer, untilMs, retryAtMs } = kept
    if (answer.kind === 'whole') return clock.monotonicMs() < Math.max(untilMs, retryAtMs)
    if (!isUsable(request, kept)) return false
    const isOutdated = answer.token.serial < (request.entry.minted?.serial ?? 0)
    return !isOutdated || clock.monotonicMs() < retryAtMs
  }

  function failed(request: TokenRequest, reason: string): NarrowedAnswer {
    const kept = cache.get(request)
    if (kept === undefined || !isUsable(request, kept)) {
      onAnswer('unavailable')
      return { kind: 'unavailable', reason }
    }
    kept.retryAtMs = clock.monotonicMs() + PAUSE_MS
    onAnswer('kept')
    return kept.answer
  }

  async function call(request: TokenRequest): Promise<NarrowedAnswer> {
    if (!isConnected()) return failed(request, NOT_CONNECTED)
    const reply = await ask(client(), request)
    if (reply.outcome === 'unavailable') return failed(request, reply.reason)
    const untilMs = reply.outcome === 'whole' ? clock.monotonicMs() + reply.valid_ms : 0
    const answer = answerOf(reply)
    cache.set(request, { answer, untilMs, retryAtMs: 0 })
    onAnswer(answer.kind === 'token' ? 'miss' : 'whole')
    return answer
  }

  return {
    cached(request) {
      const kept = cache.get(request)
      if (kept === undefined || !isCurrent(request, kept)) return null
      onAnswer(kept.answer.kind === 'token' ? 'hit' : 'whole')
      return kept.answer
    },
    state(request) {
      const kept = cache.get(request)
      if (kept === undefined) return 'missing'
      if (kept.answer.kind === 'whole') return 'whole'
      if (isCurrent(request, kept)) return 'current'
      return isUsable(request, kept) ? 'outdated' : 'missing'
    },
    fetch(request) {
      const key = `${request.entry.id} ${tokenNeedKey(request.need)}`
      const running = pending.get(key)
      if (running !== undefined) return running
      const answer = call(request).finally(() => pending.delete(key))
      pending.set(key, answer)
      return answer
    },
    get size() {
      return cache.size
    },
  }
}

/**
 * Creates the store of the control plane's answers. The key is the Connector with the needed repositories and
 * permissions.
 */
function createAnswers() {
  const known = new Set<Lru<Kept>>()
  const connectors = createLru<Lru<Kept>>(MAX_CONNECTORS, (own) => known.delete(own))
  return {
    get: ({ entry, need }: TokenRequest) => connectors.get(entry.id)?.get(tokenNeedKey(need)),
    set({ entry, need }: TokenRequest, kept: Kept) {
      const own = connectors.get(entry.id) ?? createLru<Kept>(MAX_NEEDS)
      if (!known.has(own)) connectors.set(entry.id, own)
      known.add(own)
      own.set(tokenNeedKey(need), kept)
    },
    get size() {
      return [...known].reduce((sum, { size }) => sum + size, 0)
    },
  }
}

/** Requests a token from the control plane. Never rejects. */
async function ask(
  client: ControlClient,
  { entry, actions, need }: TokenRequest,
): Promise<NarrowedTokenReply> {
  const body = { connector_id: entry.id, actions: [...actions], reads_more: need.readsMore }
  const reply = await postWithin(client, SYNC_PATHS.narrowedTokens, body, CALL_MS).catch(() => undefined)
  const parsed = reply === undefined ? undefined : NarrowedTokenReply.safeParse(jsonOf(reply)).data
  return parsed ?? { outcome: 'unavailable', reason: NO_ANSWER }
}

function answerOf(
  reply: Exclude<NarrowedTokenReply, { outcome: 'unavailable' }>,
): Exclude<NarrowedAnswer, { kind: 'unavailable' }> {
  if (reply.outcome === 'whole') return { kind: 'whole', reason: reply.reason }
  const { id, secret, serial, source, scope, expires_at: expiresAt } = reply.token
  return {
    kind: 'token',
    token: { id, secret, serial, source, scope, expiresAtMs: Date.parse(expiresAt) },
  }
}
