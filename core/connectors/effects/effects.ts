import type { Action, Effect, Parameters } from '../../action/action.ts'
import { EFFECT_CLASSES, type EffectClass } from '../../action/effect-class.ts'
import { once } from '../once.ts'
import { CHAT_EFFECTS } from './chat.ts'
import { CODEHOST_EFFECTS } from './codehost.ts'
import { type EffectEntry, readEffects } from './effect-table.ts'
import { effectsOfFields } from './fields/of-fields.ts'
import { LLM_A_EFFECTS } from './llm-a.ts'
import { LLM_B_EFFECTS } from './llm-b.ts'
import { LLM_C_EFFECTS } from './llm-c.ts'
import { PAYMENTS_EFFECTS } from './payments.ts'
import { PROVIDER_SIDE_EFFECTS } from './provider-side.ts'

/** Tables of effect classes by connector type. A table is parsed on first use. */
const TABLES: ReadonlyMap<string, () => EffectTable> = new Map(
  [
    ['codehost', CODEHOST_EFFECTS] as const,
    ['llm_a', LLM_A_EFFECTS + PROVIDER_SIDE_EFFECTS] as const,
    ['llm_b', LLM_B_EFFECTS + PROVIDER_SIDE_EFFECTS] as const,
    ['llm_c', LLM_C_EFFECTS + PROVIDER_SIDE_EFFECTS] as const,
    ['payments', PAYMENTS_EFFECTS] as const,
    ['chat', CHAT_EFFECTS] as const,
  ].map(([type, text]) => [type, once(() => tableOf(type, text))]),
)

type EffectTable = {
  readonly entries: readonly EffectEntry[]
  readonly byType: ReadonlyMap<string, readonly EffectClass[]>
  readonly reads: readonly EffectClass[] | null
}

const NONE: readonly EffectClass[] = Object.freeze([])

/**
 * Returns the effect classes of an action in the order of `EFFECT_CLASSES`: the classes of its name and those that its
 * parameters add. Null if the classes are unknown. This is the case if the table of the connector type does not contain
 * the name (`codehost.unmapped.post`, `chat.websocket.open`), or if the gateway could not read the message. Actions
 * without a table (those of `mcp`, `generic` and `webhook`, and actions that agents define) have the classes that a
 * Connector declares, else none.
 */
export function effectsOf(action: Classified): readonly EffectClass[] | null {
  const known = effectsOfName(action)
  if (known === null && action.effects === undefined) return null
  const { type, effects = NONE, possibleEffects = NONE, parameters = NO_PARAMETERS } = action
  const byFields = effectsOfFields({ type, parameters })
  if (effects.length + possibleEffects.length + byFields.length === 0) return known ?? NONE
  const all = new Set([...(known ?? []), ...effects, ...possibleEffects, ...byFields])
  return EFFECT_CLASSES.filter((effect) => all.has(effect))
}

/** Parses the table of a connector type before the first request needs it. */
export function prepareEffects(connectorType: string): void {
  TABLES.get(connectorType)?.()
}

/** Entry in a list of effect classes for an action whose classes are unknown. */
const UNKNOWN_EFFECTS = 'unknown'

const UNKNOWN: readonly string[] = Object.freeze([UNKNOWN_EFFECTS])

/**
 * Returns the effect classes of a request with these actions, for records and cards, in the order of `EFFECT_CLASSES`;
 * then `unknown` if the classes of an action are unknown.
 */
export function effectNames(actions: readonly Classified[]): readonly string[] {
  const [first] = actions
  if (first !== undefined && actions.length === 1) return effectsOf(first) ?? UNKNOWN
  const all = actions.map(effectsOf)
  const classes = new Set(all.flatMap((effects) => effects ?? []))
  return [
    ...EFFECT_CLASSES.filter((effect) => classes.has(effect)),
    ...(all.includes(null) ? [UNKNOWN_EFFECTS] : []),
  ]
}

/**
 * Returns the effect and the effect classes of one action, for cards and audit events with several actions. The classes
 * are absent if the action has none.
 */
export function effectDetails(action: Classified): {
  readonly effect: Effect
  readonly effects?: readonly string[]
} {
  const effects = effectNames([action])
  return { effect: action.effect, ...(effects.length === 0 ? {} : { effects }) }
}

/** The fields of an action that determine its effect classes. Without parameters, only the name determines them. */
type Classified = Pick<Action, 'type' | 'connector' | 'effect' | 'effects' | 'possibleEffects'> &
  Partial<Pick<Action, 'parameters'>>

const NO_PARAMETERS: Parameters = Object.freeze({})

function effectsOfName({ type, effect }: Pick<Action, 'type' | 'effect'>): readonly EffectClass[] | null {
  if (UNREAD.has(type)) return null
  const table = TABLES.get(type.slice(0, Math.max(0, type.indexOf('.'))))?.()
  if (table === undefined) return NONE
  return table.byType.get(type) ?? (effect === 'read' && !OPEN_END.test(type) ? table.reads : null)
}

/** Names of actions whose message the gateway could not read. Their effect classes are unknown. */
const UNREAD: ReadonlySet<string> = new Set(['mcp.rpc.unknown'])
const OPEN_END = /^[^.]+\.(unmapped|tunnel|websocket)\./

function tableOf(connector: string, text: string): EffectTable {
  const entries = readEffects(text)
  const byType = new Map(
    entries.flatMap(({ effects, names }) => names.map((name) => [`${connector}.${name}`, effects] as const)),
  )
  return { entries, byType, reads: entries.find(({ isForReads }) => isForReads)?.effects ?? null }
}

/**
 * Returns the lines of the effect table of a connector type, for documentation and tests; empty for types without one.
 */
export function effectEntries(connectorType: string): readonly EffectEntry[] {
  return TABLES.get(connectorType)?.().entries ?? []
}
