import { isRefusal, type Refusal, refusal } from '../request/canonical.ts'
import type { ExecuteRequest, ExecuteSpec, Row } from './connector.ts'
import { isRecord } from './fields.ts'
import { compileTemplate, type TemplatePart } from './template.ts'

export type ExecuteTarget = {
  readonly host: string
  readonly prefix: string
  readonly format: 'json' | 'form'
}

/**
 * Builds the request that an action stands for: the first row of that type, its template filled from the parameters
 * (owner and repo also from `resource.target`), what is left over as query or body. A parameter that is missing is a
 * `validation` refusal that names it.
 */
export function executeByRows(
  rows: readonly Row[],
  spec: ExecuteSpec,
  target: ExecuteTarget,
): ExecuteRequest | Refusal {
  const row = rows.find((one) => one.type === spec.type)
  if (row === undefined) return refusal('validation', `no request is known for the action ${spec.type}`)
  const left = new Map(Object.entries(withRepository(spec)))
  const path = fillTemplate(row.template, left)
  if (isRefusal(path)) return path
  if (row.when !== undefined && 'equals' in row.when) left.set(row.when.key, row.when.equals)
  const method = methodOf(row)
  const whole = target.prefix + path
  if (method === 'GET') return { method, host: target.host, target: whole + queryOf(left), headers: [] }
  const written = target.format === 'json' ? jsonBody(left) : formBody(left)
  return { method, host: target.host, target: whole, ...written }
}

function methodOf(row: Row): string {
  if (row.method !== '*') return row.method
  return row.effect === 'read' ? 'GET' : 'POST'
}

function withRepository(spec: ExecuteSpec): Record<string, unknown> {
  const [owner, repo] = spec.resource.target?.split('/') ?? []
  const known: Record<string, unknown> = { ...spec.parameters }
  if (spec.resource.provider === 'codehost') {
    if (owner !== undefined) known['owner'] ??= owner
    if (repo !== undefined) known['repo'] ??= repo
    if (owner !== undefined && repo === undefined) known['org'] ??= owner
  }
  return known
}

/** Other names under which a template's parameter may be given. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  number: ['pull_number', 'issue_number'],
  id: ['release_id', 'charge', 'customer', 'subscription', 'invoice'],
  ref: ['branch'],
}

/** Fills the template and takes what it used out of `left`. */
function fillTemplate(template: string, left: Map<string, unknown>): string | Refusal {
  const texts: string[] = []
  for (const part of compileTemplate(template)) {
    const text = part.kind === 'literal' ? part.text : takeText(part.name, part.kind === 'tail', left)
    if (text === null)
      return refusal('validation', `action_spec.parameters.${nameOf(part)} is required for this action`)
    texts.push(text)
  }
  if (template.startsWith('/repos/') || template.startsWith('/orgs/')) {
    for (const name of ['owner', 'repo', 'org']) left.delete(name)
  }
  return `/${texts.join('/')}`
}

function nameOf(part: TemplatePart): string {
  return part.kind === 'literal' ? part.text : part.name
}

function takeText(wanted: string, isTail: boolean, left: Map<string, unknown>): string | null {
  const name = [wanted, ...(ALIASES[wanted] ?? [])].find((one) => left.has(one))
  if (name === undefined) return null
  const text = pathText(left.get(name), isTail)
  left.delete(name)
  return text
}

function pathText(value: unknown, isTail: boolean): string | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const parts = isTail ? String(value).split('/') : [String(value)]
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return null
  return parts.map((part) => encodeURIComponent(part)).join('/')
}

function queryOf(left: ReadonlyMap<string, unknown>): string {
  const text = formText(left)
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

/** Bracket notation for nested values: `metadata[order]=1`, `items[0][price]=p`. */
function formText(left: ReadonlyMap<string, unknown>): string {
  return [...left].flatMap(([name, value]) => formPairs(name, value)).join('&')
}

function formPairs(name: string, value: unknown): string[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.flatMap((item, i) => formPairs(`${name}[${i}]`, item))
  if (isRecord(value))
    return Object.entries(value).flatMap(([key, inner]) => formPairs(`${name}[${key}]`, inner))
  return [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`]
}
