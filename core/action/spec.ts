import * as z from 'zod'
import { ChaperoneError } from '../errors.ts'
import type { Action, Effect, Resource, RiskLevel } from './action.ts'
import type { EffectClass } from './effect-class.ts'

/** Resource that an action affects, as stated by an agent. */
export const ResourceSpec = z.looseObject({
  provider: z.string().min(1).max(300),
  account: z.string().max(1_000).optional(),
  target: z.string().max(2_000).optional(),
  environment: z.string().max(300).optional(),
  /** Code host only: `organization` and `repository` together are equivalent to `target`. */
  organization: z.string().max(1_000).optional(),
  repository: z.string().max(1_000).optional(),
})

/** Action spec that an agent submits to v1 (spec 2.1). Unknown fields are kept, but have no effect. */
export const ActionSpec = z.looseObject({
  type: z.string().min(1).max(300),
  resource: ResourceSpec,
  parameters: z.record(z.string(), z.unknown()).optional(),
  risk_hints: z.record(z.string(), z.boolean()).optional(),
  context: z.looseObject({ reason: z.string().max(10_000).optional() }).optional(),
})

export type ActionSpec = z.infer<typeof ActionSpec>

/** Properties of an action name, from the catalogue or from a Connector that declares the action. */
export type KnownAction = {
  readonly connector: string
  readonly effect: Effect
  readonly risk: RiskLevel
  readonly hints?: Readonly<Record<string, boolean>>
  readonly unmapped?: boolean
  /** Effect classes that a Connector declares for the action. */
  readonly effects?: readonly EffectClass[] | undefined
}

/**
 * Returns the action of a spec. A name without a catalogue row is a write of medium risk. The agent cannot remove risk
 * hints of the catalogue (for example irreversible).
 */
export function actionFromSpec(spec: ActionSpec, known: KnownAction | null): Action {
  return {
    type: spec.type,
    connector: known?.connector ?? firstSegment(spec.type),
    effect: known?.effect ?? 'write',
    risk: known?.risk ?? 'medium',
    resource: resourceOf(spec.resource),
    parameters: spec.parameters ?? {},
    riskHints: mergeHints(spec.risk_hints, known?.hints),
    ...(known?.unmapped === true ? { unmapped: true } : {}),
    ...(known?.effects === undefined ? {} : { effects: known.effects }),
  }
}

function resourceOf(spec: z.infer<typeof ResourceSpec>): Resource {
  const { provider, account, environment, organization, repository } = spec
  const named = organization && repository ? `${organization}/${repository}` : undefined
  const target = spec.target ?? named
  return {
    provider,
    ...(account === undefined ? {} : { account }),
    ...(target === undefined ? {} : { target }),
    ...(environment === undefined ? {} : { environment }),
  }
}

function mergeHints(
  stated: Readonly<Record<string, boolean>> = {},
  known: Readonly<Record<string, boolean>> = {},
): Readonly<Record<string, boolean>> {
  const hints: Record<string, boolean> = { ...stated }
  for (const [name, value] of Object.entries(known)) hints[name] = value || hints[name] === true
  return hints
}

function firstSegment(type: string): string {
  const dot = type.indexOf('.')
  return dot < 0 ? type : type.slice(0, dot)
}

const MAX_DEPTH = 64

/**
 * Serializes by RFC 8785 (JCS): object keys sorted by UTF-16 code units, no white space, numbers as ECMAScript prints
 * them. Equal JSON values have equal texts, so the hash of the text identifies the value. Throws `validation` for
 * values that JSON cannot represent (NaN, lone surrogates, functions) and for nesting beyond 64 levels.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0)
}

function write(value: unknown, depth: number): string {
  if (depth > MAX_DEPTH) throw refused(`the value is nested deeper than ${MAX_DEPTH} levels`)
  switch (typeof value) {
    case 'string':
      return writeString(value)
    case 'number':
      if (!Number.isFinite(value)) throw refused(`${value} is not a JSON number`)
      return JSON.stringify(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      return value === null ? 'null' : writeContainer(value, depth)
    default:
      throw refused(`a ${typeof value} is not a JSON value`)
  }
}

function writeContainer(value: object, depth: number): string {
  if (Array.isArray(value)) return `[${value.map((item) => write(item ?? null, depth + 1)).join(',')}]`
  const parts: string[] = []
  for (const [key, item] of Object.entries(value).sort(byKey)) {
    if (item !== undefined) parts.push(`${writeString(key)}:${write(item, depth + 1)}`)
  }
  return `{${parts.join(',')}}`
}

function writeString(text: string): string {
  if (!text.isWellFormed()) throw refused('a string contains half of a surrogate pair; send valid Unicode')
  return JSON.stringify(text)
}

/** Orders members by UTF-16 code units, as RFC 8785 requires; `<` on strings compares code units. */
function byKey(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : 1
}

function refused(detail: string): ChaperoneError {
  return new ChaperoneError('validation', { detail })
}
