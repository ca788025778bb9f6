import type { Effect, RiskLevel } from '../../action/action.ts'
import type { Row } from '../connector.ts'
import type { Discriminator } from './discriminator.ts'

/**
 * Reads catalogue rows from text tables, one operation per line, with columns separated by spaces:
 *
 * METHOD TEMPLATE ACTION EFFECT RISK [when] [fields] [+hint]… [@content] [@opaque] [@anonymous] [@long] [@same]
 * [permissions]
 *
 * ACTION: the action name without the connector prefix. `when` is `?state=closed` (body key equals), `?stream=true`
 * (boolean true), `?sha:string` (a string under the key), `?!state` (otherwise) or `??service=x` (query equals).
 * `fields` is a comma-separated list of body or query fields that become parameters; `name[]` may occur several times.
 * Hints: `+irreversible`, `+financial_impact`. `@content`: the body is a file of any media type, and the fields are in
 * the query. `@opaque`: the body may be a file, alone or in a multipart form. `@anonymous`: no credential is added.
 * `@long`: the API accepts bodies beyond 32 MiB. `@same`: an older or alternative address of an operation that a row
 * without this mark names, or the same operation on a resource of another kind of owner. `permissions` is a
 * comma-separated list such as `contents:write,pull_requests:write` (see `Row.permissions`). `#` begins a comment.
 * Throws for an invalid line, which is a mistake in the catalogue: it appears when a program or test loads the table.
 */
export function readRows(connector: string, tables: readonly string[]): readonly Row[] {
  const rows: Row[] = []
  for (const table of tables) {
    for (const match of table.matchAll(LINE)) {
      const row = readRow(connector, match)
      if (row !== null) rows.push(row)
    }
  }
  return rows
}

/** Matches the columns of one line of a table. For an invalid line, the last group contains the whole line. */
const LINE =
  /^ *(?:([A-Z]+|\*) +(\/\S*) +([a-z0-9_]+(?:\.[a-z0-9_]+)+) +(read|compute|write) +(low|medium|high)(?: +(\S.*?))? *|(\S.*))$/gm

function readRow(connector: string, match: RegExpExecArray): Row | null {
  const [, method, template, action, effect, risk, rest, other] = match
  if (other?.startsWith('#')) return null
  if (method === undefined || template === undefined || !isEffect(effect) || !isRisk(risk))
    throw new Error(`catalogue row of ${connector} cannot be read: ${other}`)
  const type = `${connector}.${action}`
  return rest === undefined
    ? { method, template, type, effect, risk }
    : { method, template, type, effect, risk, ...readExtras(rest.split(/ +/)) }
}

function readExtras(rest: readonly string[]): Omit<Row, 'method' | 'template' | 'type' | 'effect' | 'risk'> {
  const when = rest.find((column) => column.startsWith('?'))
  const hints = rest
    .filter((column) => column.startsWith('+'))
    .map((column) => [column.slice(1), true] as const)
  const fields = rest.find((column) => !/^[?+@]/.test(column) && !PERMISSIONS.test(column))?.split(',')
  const permissions = rest.find((column) => PERMISSIONS.test(column))?.split(',')
  const lists = fields?.filter((field) => field.endsWith('[]')).map(withoutBrackets) ?? []
  return {
    ...(when === undefined ? {} : { when: readWhen(when) }),
    ...(fields === undefined ? {} : { parameters: fields.map(withoutBrackets) }),
    ...(lists.length === 0 ? {} : { lists }),
    ...(hints.length === 0 ? {} : { hints: Object.fromEntries(hints) }),
    ...readMarks(rest),
    ...(permissions === undefined ? {} : { permissions }),
  }
}

type Marks = Pick<Row, 'bodyIsContent' | 'bodies' | 'isAnonymous' | 'isLong' | 'isAlternative'>

function readMarks(rest: readonly string[]): Marks {
  return {
    ...(rest.includes('@content') ? { bodyIsContent: true, bodies: 'opaque' } : {}),
    ...(rest.includes('@opaque') ? { bodies: 'opaque' } : {}),
    ...(rest.includes('@anonymous') ? { isAnonymous: true } : {}),
    ...(rest.includes('@long') ? { isLong: true } : {}),
    ...(rest.includes('@same') ? { isAlternative: true } : {}),
  }
}

const PERMISSIONS = /^[a-z_]+:(?:read|write|admin)(?:,[a-z_]+:(?:read|write|admin))*$/

function withoutBrackets(field: string): string {
  return field.replace(/\[\]$/, '')
}

function readWhen(column: string): Discriminator {
  if (column.startsWith('?!')) return { key: column.slice(2), otherwise: true }
  const [key = '', value = ''] = column.replace(/^\?+/, '').split('=')
  if (column.startsWith('??')) return { key, in: 'query', equals: value }
  if (key.endsWith(':string')) return { key: key.slice(0, -':string'.length), present: 'string' }
  return { key, equals: value === 'true' ? true : value }
}

const EFFECTS: ReadonlySet<string | undefined> = new Set<Effect>(['read', 'compute', 'write'])
const RISKS: ReadonlySet<string | undefined> = new Set<RiskLevel>(['low', 'medium', 'high'])

function isEffect(text: string | undefined): text is Effect {
  return EFFECTS.has(text)
}

function isRisk(text: string | undefined): text is RiskLevel {
  return RISKS.has(text)
}
