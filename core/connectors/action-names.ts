import { fold, matchesPattern, type Pattern, parsePattern } from '../action/pattern.ts'
import { nearest } from '../nearest.ts'
import { createCatalogue } from './catalogue.ts'
import { once } from './once.ts'
import { TYPES_WITHOUT_CATALOGUE, TYPES_WITHOUT_HOSTS } from './registry.ts'

/** Connector types whose action names are declared by Connectors (`spec.actions`), chosen by servers or made by code. */
const OPEN: ReadonlySet<string> = new Set([...TYPES_WITHOUT_HOSTS, ...TYPES_WITHOUT_CATALOGUE])
/** Actions of every connector type that stand in no catalogue. */
const OF_EVERY_TYPE = ['tunnel.open', 'websocket.open', 'unmapped.']

const known = once(() => {
  const { connectors, rows } = createCatalogue()
  const names = connectors.flatMap((type) => [
    ...rows(type).map((row) => row.type),
    ...OF_EVERY_TYPE.map((name) => `${type}.${name}`),
  ])
  return { types: connectors, names: [...new Set(names)] }
})

/**
 * A warning about a pattern that matches no action that the catalogue knows; null when there is nothing to say. Names of
 * a type that is no connector's are an agent's own (`acme.deploy`): they are suspicious only where a type is near.
 */
export function unknownActionWarning(text: string): string | null {
  const pattern = parsePattern(text)
  const { types, names } = known()
  if (names.some((name) => matchesPattern(pattern, name, 'tighten'))) return null
  const stem = fold(pattern.prefix)
  if (
    types.some(
      (type) =>
        stem.startsWith(`${type}.unmapped.`) ||
        stem.startsWith('mcp.tools.') ||
        stem.startsWith('mcp.unmapped.'),
    )
  )
    return null
  const [type = ''] = stem.split('.')
  if (!types.includes(type)) return unknownType(text, type, types)
  const meant = nearest(
    stem,
    names.filter((name) => name.startsWith(`${type}.`)),
  )
  if (meant === undefined && OPEN.has(type)) return null
  const hint = meant === undefined ? '' : ` Did you mean ${meant}${pattern.isExact ? '' : '*'}?`
  return `No known action matches "${text}".${hint}`
}

/**
 * A warning about a text that a condition compares with the name of an action, or with the beginning of one, and that no
 * known action is spelled like: conditions compare exactly, and `*` is a character to them. Null when there is nothing to say.
 */
export function comparedActionWarning(text: string, isBeginning: boolean): string | null {
  const unknown = unknownActionWarning(isBeginning ? `${text}*` : text)
  if (unknown !== null) return unknown
  const stem = text.replace(/\*+$/, '')
  if (stem !== text)
    return `"${text}" is the name of no action: conditions compare names exactly. Write action.type.startsWith("${stem}").`
  const isKnown = (one: string) =>
    known().names.some((name) => name === one || (isBeginning && name.startsWith(one)))
  return isKnown(text) || !isKnown(fold(text))
    ? null
    : `"${text}" is the name of no action: conditions compare names exactly. Did you mean ${fold(text)}?`
}

/** A warning about a text that is compared with the type of a connector; null for a type that exists. */
export function unknownConnectorWarning(text: string): string | null {
  const { types } = known()
  if (types.includes(text)) return null
  const meant = nearest(fold(text), types)
  const hint = meant === undefined ? ` Types: ${types.join(', ')}.` : ` Did you mean ${meant}?`
  return `No connector has the type "${text}".${hint}`
}

/**
 * A warning about a pattern that a rule that allows cannot match, although one that denies can: what allows compares
 * names exactly, and no part of `unmapped`. Null when there is nothing to say. `declared`: names of the rows of Connectors.
 */
export function idleAllowWarning(text: string, declared: readonly string[] = []): string | null {
  const pattern = parsePattern(text)
  const { names } = known()
  if (isUnmappedPattern(pattern)) return null
  const tightened = names.filter((name) => matchesPattern(pattern, name, 'tighten'))
  const isIdle = ![...tightened, ...declared].some((name) => matchesPattern(pattern, name, 'allow'))
  if (tightened.length === 0 || !isIdle) return null
  const plain = parsePattern(fold(text))
  const isMeant = tightened.some((name) => matchesPattern(plain, name, 'allow'))
  const hint = isMeant ? ` Did you mean ${plain.text}?` : ''
  return `"${text}" allows nothing: what allows compares names exactly.${hint}`
}

/** `codehost.unmapped.*` and `codehost.unmapped.post`, which no row describes. */
function isUnmappedPattern({ text }: Pattern): boolean {
  return /^[a-z_]+\.unmapped\.(\*|[a-z]+)$/.test(text)
}

function unknownType(text: string, type: string, types: readonly string[]): string | null {
  const meant = type.length < 4 ? undefined : nearest(type, types)
  return meant === undefined
    ? null
    : `No known action matches "${text}". Did you mean ${meant}${text.slice(type.length)}?`
}
