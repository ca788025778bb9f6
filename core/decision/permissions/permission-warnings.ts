import { effectOfPattern } from '../../action/effect-class.ts'
import { matchesPattern, parsePattern } from '../../action/pattern.ts'
import { idleAllowWarning } from '../../connectors/action-names.ts'
import { createCatalogue } from '../../connectors/catalogue.ts'
import type { Connector } from '../../connectors/connector.ts'
import { effectEntries } from '../../connectors/effects/effects.ts'
import { once } from '../../connectors/once.ts'
import { BUILT_IN, TYPES_WITHOUT_CATALOGUE } from '../../connectors/registry.ts'
import { nearest } from '../../nearest.ts'
import { unknownActions } from '../policies/policy-warnings.ts'
import type { RuleDecision } from '../vocabulary.ts'

/** Rule of a permission: a decision about the actions of one connector type that match a pattern. */
export type PatternRule = {
  readonly connectorType: string
  readonly actionPattern: string
  readonly decision: RuleDecision
}

/** Prefixes of action names that servers choose, by connector type. */
const OPEN: Readonly<Record<string, readonly string[]>> = { mcp: ['mcp.tools.', 'mcp.rpc.'] }
/**
 * Connector types whose action names do not come from a catalogue, but from the method, from rows of a Connector, or
 * from code.
 */
const BY_CONFIGURATION: ReadonlySet<string> = new Set(['generic', 'webhook', '*', ...TYPES_WITHOUT_CATALOGUE])

/**
 * Returns the reason, as a sentence, why a permission can never match; null if it can. A permission with the decision
 * allow compares names exactly, so a misspelt pattern allows nothing. `declared` are the action names that Connectors
 * declare.
 */
export function idlePermission(rule: PatternRule, declared: readonly string[] = []): string | null {
  const { connectorType, actionPattern, decision } = rule
  const effect = effectOfPattern(actionPattern)
  if (effect !== null) return idleEffect(connectorType, effect)
  const stem = actionPattern.replace(/\*$/, '')
  const prefix = `${connectorType}.`
  if (connectorType !== '*' && !stem.startsWith(prefix) && !prefix.startsWith(stem)) {
    return `${actionPattern} names no action of connector type ${connectorType} and never matches.`
  }
  if (decision !== 'allow') return null
  if (BY_CONFIGURATION.has(connectorType)) return idleAllowWarning(actionPattern, declared)
  if (OPEN[connectorType]?.some((open) => stem.startsWith(open) || open.startsWith(stem))) return null
  const names = [...namesOf(connectorType), ...declared]
  const pattern = parsePattern(actionPattern)
  if (isUnmappedPattern(actionPattern, prefix)) return null
  if (names.some((name) => matchesPattern(pattern, name, 'allow'))) return null
  const meant = nearest(actionPattern, pattern.isExact ? names : wildcardsOf(names))
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
  return `${actionPattern} matches no action of connector type ${connectorType} and allows nothing.${hint}`
}

/**
 * Returns the reason why no action of the connector type has the effect class; null if an action may have the class.
 * Connector types without a table of effect classes may declare any class.
 */
function idleEffect(connectorType: string, effect: string): string | null {
  const entries = effectEntries(connectorType)
  const isPossible =
    entries.length === 0 || entries.some(({ effects }) => effects.some((one) => one === effect))
  if (isPossible) return null
  return `No action of connector type ${connectorType} has the effect class ${effect}, so effect:${effect} has no effect there.`
}

/**
 * Reports whether the pattern covers only requests that no catalogue row describes. Only such a pattern or
 * `<connector>.*` can allow these requests.
 */
function isUnmappedPattern(pattern: string, prefix: string): boolean {
  const unmapped = `${prefix}unmapped.`
  return pattern.startsWith(unmapped) && /^(\*|[a-z]+)$/.test(pattern.slice(unmapped.length))
}

const catalogue = once(() => createCatalogue())

function namesOf(type: string): readonly string[] {
  const channels = ['tunnel.open', 'websocket.open', 'unmapped.get'].map((name) => `${type}.${name}`)
  return [
    ...catalogue()
      .rows(type)
      .map((row) => row.type),
    ...channels,
  ]
}

/** Returns one wildcard pattern, such as `codehost.pr.*`, for each group of names. */
function wildcardsOf(names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => `${name.slice(0, name.lastIndexOf('.') + 1)}*`))]
}

/** Returns warnings, as full sentences, about the pattern of a valid permission. */
export function permissionWarnings(
  rule: PatternRule,
  declared: readonly string[] = [],
  others: readonly PatternRule[] = [],
): readonly string[] {
  const isKnown = declared.includes(rule.actionPattern) || effectOfPattern(rule.actionPattern) !== null
  const unknown = isKnown ? [] : unknownActions([rule.actionPattern])
  if (unknown.length > 0) return unknown
  const idle = idlePermission(rule, declared)
  return idle === null ? unreadSockets(rule, others) : [idle]
}

/**
 * Returns a warning if only a wildcard of this rule allows WebSockets of a model provider, whose messages the gateway
 * does not read. `others` are the rules for the same agents; a rule that names the action suppresses the warning.
 */
export function unreadSockets(rule: PatternRule, others: readonly PatternRule[]): readonly string[] {
  const { connectorType, actionPattern, decision } = rule
  const pattern = parsePattern(actionPattern)
  if (decision !== 'allow' || pattern.isExact) return []
  return BUILT_IN.flatMap(({ name, unreadSocketApi: api }: Connector) => {
    const type = `${name}.websocket.open`
    const isCovered = ['*', name].includes(connectorType) && matchesPattern(pattern, type, 'allow')
    if (api === undefined || !isCovered || others.some((other) => other.actionPattern === type)) return []
    return [
      `${actionPattern} also allows ${type} (${api}). The gateway does not read messages of this WebSocket, so rules on model calls do not apply to it. Add a rule for ${type}.`,
    ]
  })
}
