import { isRefusal, type Refusal, refusal } from '../../request/canonical.ts'
import type { ExecuteRequest, ExecuteSpec, Row, UserRow } from '../connector.ts'
import { missing, wrong } from '../endpoint.ts'
import { formText } from '../fields/form-text.ts'
import type { Discriminator } from '../rows/discriminator.ts'
import { compileTemplate, type TemplatePart } from '../rows/template.ts'

export type ExecuteTarget = {
  readonly host: string
  readonly prefix: string
  readonly format: 'json' | 'form'
  /** Rows that the Connector declares. Their templates are complete paths, so the prefix of a base URL is not added. */
  readonly declared?: readonly UserRow[]
}

/**
 * Builds the request of an action from a catalogue row of the action. The path template of the row is filled from the
 * parameters (owner and repo also from `resource.target`). The remaining parameters are sent as query or body. For
 * missing parameters, returns a `validation` refusal that names all of them.
 */
export function executeByRows(
  rows: readonly Row[],
  spec: ExecuteSpec,
  target: ExecuteTarget,
): ExecuteRequest | Refusal {
  const known = withRepository(spec)
  const found = chooseRow(rows, spec.type, known.values)
  if (found !== undefined) return build(found, known, target)
  const declared = target.declared?.find(({ action }) => action === spec.type)
  if (declared === undefined)
    return wrong('type', `the catalogue has no request for ${spec.type}, so the action cannot be executed`)
  const { method, path, action, effect, risk } = declared
  return build({ method, template: path, type: action, effect, risk }, known, { ...target, prefix: '' })
}

/**
 * Selects the row of the action from which the request is built: the first row that is not alternative. A later row
 * takes its place if the spec has a value for every path parameter of the later row, and the selected row does not use
 * all of these parameters.
 */
function chooseRow(
  rows: readonly Row[],
  type: string,
  values: Readonly<Record<string, unknown>>,
): Row | undefined {
  const own = rows.filter((row) => row.type === type)
  const [first, ...others] = own.sort(
    (a, b) => Number(a.isAlternative === true) - Number(b.isAlternative === true),
  )
  return others.reduce((best, row) => {
    const names = namesIn(row.template)
    const known = best === undefined ? [] : [...namesIn(best.template), ...(best.parameters ?? [])]
    const isFilled = names.every((name) => values[name] !== undefined)
    return isFilled && names.some((name) => !known.includes(name)) ? row : best
  }, first)
}

function namesIn(template: string): readonly string[] {
  return compileTemplate(template).flatMap((part) => (part.kind === 'literal' ? [] : [part.name]))
}

type Known = {
  readonly values: Readonly<Record<string, unknown>>
  /** Names of values that come from `resource.target`. These values fill the path only and are never sent as fields. */
  readonly derived: readonly string[]
}

function build(row: Row, { values, derived }: Known, target: ExecuteTarget): ExecuteRequest | Refusal {
  const left = new Map(Object.entries(values))
  const path = fillTemplate(row.template, left)
  if (isRefusal(path)) return path
  for (const name of derived) left.delete(name)
  const query = new Map<string, unknown>()
  const said = row.when === undefined ? null : sayWhich(row.when, left, query)
  if (said !== null) return said
  const method = methodOf(row)
  const { host } = target
  const whole = target.prefix + path
  if (method === 'GET' || method === 'HEAD')
    return { method, host, target: whole + queryOf([...query, ...left]), headers: [] }
  const written = target.format === 'json' ? jsonBody(left) : formBody(left)
  return { method, host, target: whole + queryOf([...query]), ...written }
}

function methodOf(row: Row): string {
  if (row.method !== '*') return row.method
  return row.effect === 'read' ? 'GET' : 'POST'
}

/**
 * Adds the value that distinguishes this row from the other rows of the same path. The value overrides a parameter of
 * the spec. Returns a refusal if the row requires a text that the parameters lack.
 */
function sayWhich(
  when: Discriminator,
  left: Map<string, unknown>,
  query: Map<string, unknown>,
): Refusal | null {
  if ('in' in when) query.set(when.key, when.equals)
  else if ('equals' in when) left.set(when.key, when.equals)
  else if ('present' in when && typeof left.get(when.key) !== 'string')
    return missing(`parameters.${when.key}`)
  return null
}

/**
 * Returns the parameters with owner and repository from `resource.target` (spec 2.1). The target overrides given
 * parameters, because policies use the target.
 */
function withRepository({ resource, parameters }: ExecuteSpec): Known {
  if (resource.provider !== 'codehost' || resource.target === undefined)
    return { values: parameters, derived: [] }
  const [owner = '', repo] = resource.target.split('/')
  const said = repo === undefined ? { org: owner } : { owner, repo }
  return { values: { owner, ...parameters, ...said }, derived: ['owner', 'repo', 'org'] }
}

/** Further names under which an action spec may state a template parameter. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  number: ['pull_number', 'issue_number'],
  id: ['release_id', 'charge', 'customer', 'subscription', 'invoice'],
  ref: ['branch'],
}

/** Fills the path template of a row, and removes the used parameters from `left`. */
function fillTemplate(template: string, left: Map<string, unknown>): string | Refusal {
  const parts = compileTemplate(template).map((part) => textOf(part, left))
  const failed = parts.filter(isRefusal)
  if (failed.length > 0) return refusal('validation', failed.map(({ detail }) => detail).join('; '))
  return `/${parts.join('/')}`
}

function textOf(part: TemplatePart, left: Map<string, unknown>): string | Refusal {
  if (part.kind === 'literal') return part.text
  const { name: wanted } = part
  const name = [wanted, ...(ALIASES[wanted] ?? [])].find((one) => left.has(one))
  if (name === undefined) return missing(`parameters.${wanted}`)
  const text = pathText(left.get(name), part)
  left.delete(name)
  return text ?? wrong(`parameters.${name}`, 'cannot be part of a path')
}

function pathText(value: unknown, part: Exclude<TemplatePart, { kind: 'literal' }>): string | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null
  if (part.kind === 'parameter' && part.isNumber && !/^[0-9]+$/.test(String(value))) return null
  const segments = part.kind === 'tail' ? String(value).split('/') : [String(value)]
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) return null
  return segments.map((segment) => encodeURIComponent(segment)).join('/')
}

function queryOf(pairs: readonly (readonly [string, unknown])[]): string {
  const text = formText(pairs)
  return text === '' ? '' : `?${text}`
}

function jsonBody(left: ReadonlyMap<string, unknown>): Pick<ExecuteRequest, 'headers' | 'body'> {
  if (left.size === 0) return { headers: [] }
  return { headers: ['Content-Type', 'application/json'], body: JSON.stringify(Object.fromEntries(left)) }
}

function formBody(left: ReadonlyMap<string, unknown>): Pick<ExecuteRequest, 'headers' | 'body'> {
  if (left.size === 0) return { headers: [] }
  return { headers: ['Content-Type', 'application/x-www-form-urlencoded'], body: formText(left) }
}
