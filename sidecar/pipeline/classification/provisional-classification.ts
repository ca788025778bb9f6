import type { Action } from '../../../core/action/action.ts'
import { classify, decidingKeys, nameSeen } from '../../../core/connectors/classify.ts'
import type { BodyView, Classification, Named } from '../../../core/connectors/connector.ts'
import { actionsOf } from '../../../core/connectors/named-action.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import type { Decision } from '../../../core/decision/decision.ts'
import { type CanonicalRequest, isRefusal, type Refusal } from '../../../core/request/canonical.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import type { BodyQuestion } from '../body/body-facts.ts'

/**
 * Classification of a request by its request line, before its body is read. Requests with the same request line share
 * the object while it is cached.
 */
export type ProvisionalClassification = {
  readonly method: string
  readonly host: string
  readonly port: number
  readonly isEmpty: boolean
  readonly named: Named
  /** All actions that the request performs or may perform. */
  readonly actions: readonly Action[]
  /** Body keys that determine the candidate. */
  readonly keys: readonly string[]
  /** Action when the body contains none of the keys; null when the action is then undetermined. */
  readonly unseen: Action | null
  /** Cached decisions under the current snapshot; null before the first one. `exchange-decision.ts` sets the field. */
  cached: CachedDecisions | null
}

/** Decisions that follow from a provisional classification and one snapshot. */
export type CachedDecisions = {
  readonly snapshot: Snapshot
  /** Facts that only the body contains, with the policies that need them. */
  readonly questions: readonly BodyQuestion[]
  /**
   * True when no matching policy uses more than the request line. An agent then gets the same decision until the
   * snapshot changes.
   */
  readonly isSteady: boolean
  /** Decisions by agent name. */
  readonly decisions: Map<string, Decision | 'split'>
  /** Decisions about single candidates, by type of the action and name of the agent. */
  readonly byCandidate: Map<string, Map<string, Decision>>
}

const remembered = new WeakMap<BoundConnector, Map<string, ProvisionalClassification>>()
/** Maximum number of cached request lines for each connector, because agents choose paths. A full cache is cleared. */
const MAX_LINES = 512
const MAX_TARGET = 256

/** Classifies a request by its request line. The result is cached, because most agents call a few paths. */
export function classifyByRequestLine(
  bound: BoundConnector,
  request: CanonicalRequest,
  isEmpty: boolean,
): ProvisionalClassification | Refusal {
  const lines = remembered.get(bound)
  const known = lines?.get(request.rawTarget)
  if (known !== undefined && isSameLine(known, request, isEmpty)) return known
  if (!isMemorable(request)) return newProvisional(bound, request, isEmpty)
  const seen = { isLineOnly: true }
  const provisional = newProvisional(bound, lineOnly(request, seen), isEmpty)
  if (!isRefusal(provisional) && seen.isLineOnly) remember(bound, request.rawTarget, provisional)
  return provisional
}

function isSameLine(known: ProvisionalClassification, request: CanonicalRequest, isEmpty: boolean): boolean {
  return (
    known.method === request.method &&
    known.host === request.host &&
    known.port === request.port &&
    known.isEmpty === isEmpty &&
    !request.isUpgrade
  )
}

/** Reports whether the classification may be cached. Targets with a query rarely repeat. */
function isMemorable({ rawQuery, rawTarget, isUpgrade, method }: CanonicalRequest): boolean {
  return rawQuery === '' && rawTarget.length <= MAX_TARGET && !isUpgrade && method !== 'CONNECT'
}

/**
 * Wraps the request to detect whether the connector reads more than the request line. If so, the result is not cached.
 */
function lineOnly(request: CanonicalRequest, seen: { isLineOnly: boolean }): CanonicalRequest {
  return {
    ...request,
    get rawHeaders() {
      seen.isLineOnly = false
      return request.rawHeaders
    },
    get body() {
      seen.isLineOnly = false
      return request.body
    },
  }
}

function remember(bound: BoundConnector, rawTarget: string, provisional: ProvisionalClassification): void {
  const lines = remembered.get(bound) ?? new Map<string, ProvisionalClassification>()
  if (lines.size === 0) remembered.set(bound, lines)
  if (lines.size >= MAX_LINES) lines.clear()
  lines.set(rawTarget, provisional)
}

const ABSENT: BodyView = { kind: 'absent' }
const NOTHING_SEEN: ReadonlyMap<string, unknown> = new Map()
const NO_KEYS: readonly string[] = []

function newProvisional(
  bound: BoundConnector,
  request: CanonicalRequest,
  isEmpty: boolean,
): ProvisionalClassification | Refusal {
  const named = classifyWithoutBody(bound, request, isEmpty)
  if (isRefusal(named)) return named
  const { method, host, port } = request
  const line = { method, host, port, isEmpty, cached: null }
  const actions = actionsOf(named)
  if (!isSettledByBody(named)) {
    return { ...line, named, actions, keys: NO_KEYS, unseen: null }
  }
  return {
    ...line,
    named,
    actions,
    keys: decidingKeys(bound, request),
    unseen: nameSeen(bound, request, NOTHING_SEEN),
  }
}

/**
 * Classifies by the request line. A request without a body is classified with an absent body where candidates remain,
 * because no body can then determine the candidate.
 */
function classifyWithoutBody(
  bound: BoundConnector,
  request: CanonicalRequest,
  isEmpty: boolean,
): Classification {
  const first = classify(bound, request)
  return !isRefusal(first) && isSettledByBody(first) && isEmpty ? classify(bound, request, ABSENT) : first
}

/** Returns true for candidates when the body of the request determines which candidate applies. */
export function isSettledByBody(named: Named): boolean {
  return named.kind === 'candidates' && named.settledBy !== 'server'
}
