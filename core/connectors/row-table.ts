import type { Effect, RiskLevel } from '../action/action.ts'
import type { Discriminator, Row } from './connector.ts'

/**
 * Reads catalogue rows from a table that people can scan, one operation a line, columns apart by spaces:
 *
 *   METHOD TEMPLATE ACTION EFFECT RISK [when] [fields] [+hint]… [@content] [@same]
 *
 * ACTION without the connector's name. `when` is `?state=closed` (body key equals), `?stream=true` (boolean true),
 * `?sha:string` (a string under the key), `?!state` (otherwise) or `??service=x` (query equals). `fields` is a comma
 * list of body or query fields that become parameters. Hints: `+irreversible`, `+financial_impact`. `@content`: the body is a file,
 * of whatever type, and the fields stand in the query. `@same`: an older or alternative address of a deed that a row
 * without this mark names, or the same deed on what another kind of owner has. `#` begins a comment.
 * A line that does not read so throws: it is a mistake in the catalogue, found when the program or a test loads it.
 */
export function readRows(connector: string, table: string): readonly Row[] {
  return table
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => readRow(connector, line))
}

const EFFECTS: ReadonlySet<string> = new Set<Effect>(['read', 'compute', 'write'])
const RISKS: ReadonlySet<string> = new Set<RiskLevel>(['low', 'medium', 'high'])

function readRow(connector: string, line: string): Row {
  const [method = '', template = '', action = '', effect = '', risk = '', ...rest] = line.split(/\s+/)
  const isSound =
    /^([A-Z]+|\*)$/.test(method) && template.startsWith('/') && /^[a-z0-9_]+(\.[a-z0-9_]+)+$/.test(action)
  if (!isSound || !isEffect(effect) || !isRisk(risk))
    throw new Error(`catalogue row of ${connector} cannot be read: ${line}`)
  return { method, template, type: `${connector}.${action}`, effect, risk, ...readExtras(rest) }
}

const NOTHING = {}

function readExtras(
  rest: readonly string[],
): Pick<Row, 'when' | 'parameters' | 'hints' | 'bodyIsContent' | 'isAlternative'> {
  if (rest.length === 0) return NOTHING
  const when = rest.find((column) => column.startsWith('?'))
  const hints = rest
    .filter((column) => column.startsWith('+'))
    .map((column) => [column.slice(1), true] as const)
  const fields = rest.find((column) => !/^[?+@]/.test(column))
  return {
    ...(when === undefined ? {} : { when: readWhen(when) }),
    ...(fields === undefined ? {} : { parameters: fields.split(',') }),
    ...(hints.length === 0 ? {} : { hints: Object.fromEntries(hints) }),
    ...(rest.includes('@content') ? { bodyIsContent: true } : {}),
    ...(rest.includes('@same') ? { isAlternative: true } : {}),
  }
}

function readWhen(column: string): Discriminator {
  if (column.startsWith('?!')) return { key: column.slice(2), otherwise: true }
  const [key = '', value = ''] = column.replace(/^\?+/, '').split('=')
  if (column.startsWith('??')) return { key, in: 'query', equals: value }
  if (key.endsWith(':string')) return { key: key.slice(0, -':string'.length), present: 'string' }
  return { key, equals: value === 'true' ? true : value }
}

function isEffect(text: string): text is Effect {
  return EFFECTS.has(text)
}

function isRisk(text: string): text is RiskLevel {
  return RISKS.has(text)
}
