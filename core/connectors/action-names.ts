import { fold, matchesPattern, type Pattern, parsePattern } from '../action/pattern.ts'
import { nearest } from '../nearest.ts'
import { createCatalogue } from './catalogue.ts'
import { once } from './once.ts'
import { TYPES_WITHOUT_CATALOGUE, TYPES_WITHOUT_HOSTS } from './registry.ts'

/**
 * Connector types with action names that the catalogue does not list: types without hosts of their own (names of MCP
 * tools, actions that a Connector declares in `spec.actions`), and types without a catalogue.
 */
const OPEN: ReadonlySet<string> = new Set([...TYPES_WITHOUT_HOSTS, ...TYPES_WITHOUT_CATALOGUE])
/**
 * Action names, without the connector prefix, that exist for every connector type, although no catalogue row has them.
 * In names of unmapped actions, an HTTP method follows `unmapped.`.
 */
const OF_EVERY_TYPE = ['tunnel.open', 'websocket.open', 'unmapped.']

const known = once(() => {
  const { connectors, rows } = createCatalogue()
  const names = connectors.flatMap((type) => [
    ...rows(type).map((row) => row.type),
    ...OF_EVERY_TYPE.map((name) => `${type}.${name}`),
  ])
  return { types: connectors, names: [...new Set(names)] }
})

const MAX_PATTERNS = 256
const matched = new Map<string, readonly string[]>()

/**
 * Returns the known action names that the pattern matches in a rule that denies or holds. The result is cached, because
 * thousands of permissions may have equal patterns.
 */
function namesMatching(pattern: Pattern): readonly string[] {
  const found = matched.get(pattern.text)
  if (found !== undefined) return found
  const names = known().names.filter((name) => matchesPattern(pattern, name, 'tighten'))
  if (matched.size >= MAX_PATTERNS) matched.clear()
  matched.set(pattern.text, names)
  return names
}

/**
 * Returns a warning about an action pattern that matches no action of the catalogue; null if there is no warning. A
 * name whose first part is no connector type is an action that an agent defines (`acme.deploy`). This name causes a
 * warning only if its first part resembles a connector type.
 */
export function unknownActionWarning(text: string): string | null {
  const pattern = parsePattern(text)
  if (namesMatching(pattern).length > 0) return null
  const { types, names } = known()
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
 * Returns a warning about a text that a policy condition compares with action names, if the text equals no known action
 * name; null if there is no warning. `isBeginning`: the condition compares the text with the beginning of the names.
 * Conditions compare exactly and treat `*` as a character.
 */
export function comparedActionWarning(text: string, isBeginning: boolean): string | null {
  const unknown = unknownActionWarning(isBeginning ? `${text}*` : text)
  if (unknown !== null) return unknown
  const stem = text.replace(/\*+$/, '')
  if (stem !== text)
    return `"${text}" is not an action name, and conditions compare names exactly. Write action.type.startsWith("${stem}").`
  const isKnown = (one: string) =>
    known().names.some((name) => name === one || (isBeginning && name.startsWith(one)))
  return isKnown(text) || !isKnown(fold(text))
    ? null
    : `"${text}" is not an action name, and conditions compare names exactly. Did you mean ${fold(text)}?`
}

/** Returns a warning about a text that a policy condition compares with a connector type; null for an existing type. */
export function unknownConnectorWarning(text: string): string | null {
  const { types } = known()
  if (types.includes(text)) return null
  const meant = nearest(fold(text), types)
  const hint = meant === undefined ? ` Types: ${types.join(', ')}.` : ` Did you mean ${meant}?`
  return `No connector has the type "${text}".${hint}`
}

/**
 * Returns a warning about an action pattern that never matches in an allow rule, although the same pattern would match
 * in a deny rule; null if there is no warning. Allow rules compare names in exact letter case, and a wildcard such as
 * `codehost.unm*` allows no unmapped action. `declared`: action names that Connectors declare in `spec.actions`.
 */
export function idleAllowWarning(text: string, declared: readonly string[] = []): string | null {
  const pattern = parsePattern(text)
  if (isUnmappedPattern(pattern)) return null
  const tightened = namesMatching(pattern)
  const isIdle = ![...tightened, ...declared].some((name) => matchesPattern(pattern, name, 'allow'))
  if (tightened.length === 0 || !isIdle) return null
  const plain = parsePattern(fold(text))
  const isMeant = tightened.some((name) => matchesPattern(plain, name, 'allow'))
  const hint = isMeant ? ` Did you mean ${plain.text}?` : ''
  return `"${text}" allows nothing: rules that allow compare names exactly, and no known action has this name.${hint}`
}

/**
 * Matches patterns of unmapped actions, such as `codehost.unmapped.*` and `codehost.unmapped.post`. No catalogue row
 * names these actions.
 */
function isUnmappedPattern({ text }: Pattern): boolean {
  return /^[a-z_]+\.unmapped\.(\*|[a-z]+)$/.test(text)
}

function unknownType(text: string, type: string, types: readonly string[]): string | null {
  const meant = type.length < 4 ? undefined : nearest(type, types)
  return meant === undefined
    ? null
    : `No known action matches "${text}". Did you mean ${meant}${text.slice(type.length)}?`
}
