import type { Parameters } from '../../action/action.ts'
import { fold } from '../../action/pattern.ts'
import type { Risk } from '../../action/risk.ts'
import { hasUnknownTarget } from '../../connectors/binding/target-by-id.ts'
import { effectsOf } from '../../connectors/effects/effects.ts'
import { canonicalParameters, canonicalResource } from '../../connectors/names.ts'
import { nameRulesOf } from '../../connectors/registry.ts'
import { createCelEnvironment } from '../conditions/cel-environment.ts'
import type { DecisionInput, RequestFacts } from '../decision.ts'
import type { PlacedInput } from './environment.ts'
import { givenOf, lazyObjects } from './lazy-object.ts'
import { UNKNOWN } from './unknown-value.ts'

/** Variables of conditions for one decision. Each value is converted when a condition first reads it. */
export type Facts = Readonly<Record<string, unknown>>

/**
 * Maximum size of a fact's value: elements of a list, keys of a map, characters of a text, levels of nesting. A
 * condition that reads a larger value cannot be evaluated, which can only make a decision stricter.
 */
export const FACT_BOUNDS = { list: 64, keys: 128, text: 65_536, nesting: 16 } as const

type Given = { readonly input: PlacedInput; readonly risk: Risk }

export function createFacts(input: PlacedInput, risk: Risk): Facts {
  return factsOf({ input, risk }) as Facts
}

const factsOf = lazyObjects<Given>({
  action: ({ input: { action } }) => ({
    type: action.type,
    connector: action.connector,
    effect: action.effect,
    effects: effectsOf(action) ?? UNKNOWN,
    risk: action.risk,
    unmapped: action.unmapped === true,
  }),
  resource: ({ input }) =>
    hasUnknownTarget(input.action) ? withUnknownTarget(input) : celValue(resourceOf(input)),
  parameters: ({ input: { action } }) =>
    celValue(withPlainNames(canonicalParameters(nameRulesOf(action.connector), action.parameters))),
  hints: ({ input }) => celValue(hintsOf(input)),
  context: ({ input }) => celValue(input.context ?? {}),
  agent: ({ input }) => folded(input.agent),
  gateway: ({ input }) => celValue(folded(input.gateway ?? {})),
  connector: ({ input }) => celValue(folded(input.connector ?? ownConnector(input))),
  request: ({ input }) => lazyValues(input.request ?? {}),
  risk: ({ input, risk }) => ({ score: risk.score, level: input.action.risk, factors: [...risk.factors] }),
  now: ({ input }) => timestamp(input.nowMs),
})

/** Returns an object whose fields, own and inherited, are converted to CEL values when a condition reads them. */
function lazyValues(given: object): object {
  const made = new Map<string, unknown>()
  const lazy = {}
  for (const name in given) {
    const get = (): unknown => {
      if (!made.has(name)) made.set(name, celValue(given[name as keyof typeof given]))
      return made.get(name)
    }
    Object.defineProperty(lazy, name, { get, enumerable: true })
  }
  return lazy
}

/**
 * Returns the `connector` fact of an action that belongs to no Connector: its name and type are the action's first
 * segment.
 */
function ownConnector({ action }: DecisionInput): { name: string; type: string } {
  return { name: action.connector, type: action.connector }
}

/** Returns the object with its environment in lower case, because conditions compare environments without case. */
function folded<T extends object>(named: T & { readonly environment?: string }): T {
  const { environment } = named
  return environment === undefined ? { ...named } : { ...named, environment: fold(environment) }
}

/** Returns the request of these facts; undefined for an action that is no request through a gateway. */
export function requestOf(facts: Facts): RequestFacts | undefined {
  return givenOf<Given>(facts).input.request
}

/** Returns the connector type whose name equality rules apply to these facts. */
export function connectorOf(facts: Facts): string {
  return givenOf<Given>(facts).input.action.connector
}

/**
 * Returns the `resource` fact of an action whose target is known only by an id. A condition that reads the target, even
 * after `has()`, cannot be evaluated, because the id may identify a resource that a rule names.
 */
function withUnknownTarget(input: PlacedInput): object {
  const fields = Object.entries(resourceOf(input)).map(([name, value]) => [name, celValue(value)])
  const fact: object = Object.fromEntries(fields)
  for (const name of ['target', 'account'])
    Object.defineProperty(fact, name, { get: refuseId, enumerable: true })
  return fact
}

function refuseId(): never {
  throw new Error('the target is unknown, because the request identifies it only by an id')
}

/**
 * Returns the resource with names in the provider's canonical spelling. `raw_target` is the target as the agent sent
 * it.
 */
function resourceOf(input: PlacedInput): Parameters {
  const { connector, resource } = input.action
  const { target: sent, ...rest } = resource
  const target = sent === undefined ? undefined : decodedTarget(sent, input)
  const decoded = typeof target === 'string' ? { ...rest, target } : rest
  return {
    ...canonicalResource(nameRulesOf(connector), decoded),
    ...(target === UNKNOWN ? { target } : {}),
    ...(sent === undefined ? {} : { raw_target: sent }),
    environment: input.environment,
  }
}

/**
 * Returns the target of the action. If the target is the address of the request, returns it with the decoded path of
 * `request.path`, or returns `UNKNOWN` if that path is unknown.
 */
function decodedTarget(target: string, { request }: PlacedInput): string | typeof UNKNOWN {
  if (request === undefined || target !== request.host + request.raw_path) return target
  return typeof request.path === 'string' ? request.host + request.path : UNKNOWN
}

/**
 * Adds a list `items` for the parameters `items[0]` and `items[]` if no parameter has the name `items`, because servers
 * read these parameters as a list of that name.
 */
function withPlainNames(parameters: Parameters): Parameters {
  const plain: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(parameters)) {
    const bracket = name.indexOf('[')
    if (bracket <= 0) continue
    const base = name.slice(0, bracket)
    if (!Object.hasOwn(parameters, base)) plain[base] = [plain[base] ?? [], value].flat()
  }
  return { ...parameters, ...plain }
}

/**
 * Returns the risk hints. Known hints always have a value, so that a missing `hints.irreversible` is false instead of
 * an error.
 */
function hintsOf({ action, isProduction }: PlacedInput): Parameters {
  return {
    irreversible: false,
    financial_impact: false,
    ...action.riskHints,
    production_target: isProduction,
  }
}

/**
 * Converts JSON to CEL values: integers become int, other numbers double, and objects maps. A value beyond
 * `FACT_BOUNDS` becomes `UNKNOWN`.
 */
function celValue(value: unknown, depth = 0): unknown {
  switch (typeof value) {
    case 'string':
      return value.length > FACT_BOUNDS.text ? UNKNOWN : value
    case 'number':
      return Number.isSafeInteger(value) ? BigInt(value) : value
    case 'object':
      return value === null ? null : container(value, depth)
    default:
      return value
  }
}

function container(value: object, depth: number): unknown {
  if (depth >= FACT_BOUNDS.nesting) return UNKNOWN
  if (Array.isArray(value)) {
    return value.length > FACT_BOUNDS.list ? UNKNOWN : value.map((item) => celValue(item, depth + 1))
  }
  const entries = Object.entries(value)
  if (entries.length > FACT_BOUNDS.keys) return UNKNOWN
  const map = new Map<string, unknown>()
  for (const [key, item] of entries) if (item !== undefined) map.set(key, celValue(item, depth + 1))
  return map
}

/** Returns the time as a CEL value, without `Date`, because core has no clock. */
function timestamp(nowMs: number): unknown {
  const seconds = Math.floor(nowMs / 1_000)
  return TIMESTAMP({ risk: { seconds: BigInt(seconds), rest: `${Math.floor(nowMs) - seconds * 1_000}ms` } })
}

const TIMESTAMP = createCelEnvironment().parse('timestamp(int(risk.seconds)) + duration(string(risk.rest))')
