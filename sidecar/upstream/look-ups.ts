import type { LookUp, LookUpValues } from '../../core/connectors/binding/look-up.ts'
import { type BoundConnector, findConnector } from '../../core/connectors/registry.ts'
import type { CanonicalRequest } from '../../core/request/canonical.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import { createLru } from '../collections/lru.ts'
import type { JsonReader } from './json-reader.ts'

export type LookUpPort = {
  /**
   * Reads values from the provider for a request. Resolves with null when the provider sends no answer, and when the
   * look-up is not sent (`limited`). Never rejects.
   */
  ask(asking: LookUpContext, lookUp: LookUp): Promise<LookUpValues>
}

/** Context of a look-up: the request that causes it, with its agent, connector and snapshot. */
export type LookUpContext = {
  readonly snapshot: Snapshot
  readonly bound: BoundConnector
  readonly request: CanonicalRequest
  readonly agent: string
}

/**
 * Result of a look-up for the metrics. `kept`: the answer came from the cache. `limited`: not sent, because the agent
 * caused too many look-ups, too many are in flight, or the connector does not own the host.
 */
export type LookUpOutcome = 'answered' | 'kept' | 'failed' | 'limited'

export type LookUpDeps = {
  readonly reader: JsonReader
  readonly monotonicMs: () => number
  readonly onAsked: (connector: string, lookUp: string, outcome: LookUpOutcome) => void
}

/**
 * Maximum number of look-ups in a minute for each agent and connector. Look-ups whose answers are cached, and those
 * whose answers are not, are counted separately.
 */
const LOOK_UPS_PER_MINUTE = 120
const MAX_IN_FLIGHT = 32
const MAX_KEPT = 10_000
const MINUTE_MS = 60_000

type Kept = { readonly values: LookUpValues; readonly until: number }
type Counter = { count: number; readonly until: number }

/**
 * Creates the look-ups, which use the credential of the connector. Answers are cached for `keepMs` of the look-up.
 * Concurrent requests share one look-up when its answer may be cached.
 */
export function createLookUps({ reader, monotonicMs, onAsked }: LookUpDeps): LookUpPort {
  const kept = createLru<Kept>(MAX_KEPT)
  const counters = createLru<Counter>(MAX_KEPT)
  const shared = new Map<string, Promise<LookUpValues>>()
  let inFlight = 0

  function ask(asking: LookUpContext, lookUp: LookUp): Promise<LookUpValues> {
    const { bound } = asking
    const count = (outcome: LookUpOutcome) => onAsked(bound.connector.name, lookUp.name, outcome)
    const key = keyOf(asking, lookUp)
    const known = kept.get(key)
    if (known !== undefined && known.until > monotonicMs()) {
      count('kept')
      return Promise.resolve(known.values)
    }
    const running = shared.get(key)
    if (running !== undefined) return running
    if (inFlight >= MAX_IN_FLIGHT || !isOwn(asking, lookUp) || !mayAsk(asking, lookUp)) {
      count('limited')
      return Promise.resolve(null)
    }
    const answer = read(asking, lookUp).then((values) => {
      count(values === null ? 'failed' : 'answered')
      if (isKept(lookUp, values)) kept.set(key, { values, until: monotonicMs() + lookUp.keepMs })
      shared.delete(key)
      return values
    })
    if (lookUp.keepMs > 0) shared.set(key, answer)
    return answer
  }

  /**
   * Counts the look-up. Returns false beyond the limit. Look-ups whose answers are not cached, such as those for
   * approval cards, have a separate limit, so that other requests cannot exhaust it.
   */
  function mayAsk({ agent, bound }: LookUpContext, { keepMs }: LookUp): boolean {
    const key = JSON.stringify([agent, bound.entry.id, keepMs > 0])
    const known = counters.get(key)
    const isOver = known === undefined || known.until <= monotonicMs()
    const counter = isOver ? { count: 0, until: monotonicMs() + MINUTE_MS } : known
    if (isOver) counters.set(key, counter)
    counter.count += 1
    return counter.count <= LOOK_UPS_PER_MINUTE
  }

  async function read({ bound, request }: LookUpContext, lookUp: LookUp): Promise<LookUpValues> {
    inFlight += 1
    try {
      const answer = await reader.read({ bound, request, question: lookUp })
      return lookUp.members.map((path) => primitive(valueAt(answer, path)))
    } catch {
      return null
    } finally {
      inFlight -= 1
    }
  }

  return { ask }
}

function keyOf({ bound, request }: LookUpContext, { method, host, target, body = '' }: LookUp): string {
  const { id, upstream } = bound.entry
  return JSON.stringify([id, upstream.url, request.scheme, host, request.port, method, target, body])
}

/** Returns true when the connector owns the host of the look-up. The credential is sent to no other host. */
function isOwn({ snapshot, bound, request }: LookUpContext, { host }: LookUp): boolean {
  return findConnector(snapshot.hosts, host, request.port)?.entry.id === bound.entry.id
}

function isKept({ keepMs, keptWith, members }: LookUp, values: LookUpValues): boolean {
  const at = members.findIndex((path) => path.join('.') === keptWith.join('.'))
  return keepMs > 0 && values?.[at] !== undefined
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => memberOf(at, key), value)
}

/** Returns a member of an object, or the item of a list at the index `key`. */
function memberOf(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return /^[0-9]+$/.test(key) ? value[Number(key)] : undefined
  const isObject = typeof value === 'object' && value !== null
  return isObject && Object.hasOwn(value, key) ? value[key as keyof typeof value] : undefined
}

const MAX_TEXT = 500

function primitive(value: unknown): string | number | boolean | undefined {
  if (value === null || value === undefined) return undefined
  if (typeof value === 'string') return value.length <= MAX_TEXT ? value : undefined
  return typeof value === 'number' || typeof value === 'boolean' ? value : true
}
