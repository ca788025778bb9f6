import type { Action, Parameters } from '../../action/action.ts'
import { type CanonicalRequest, isRefusal } from '../../request/canonical.ts'
import type { Classification, ConnectorConfig, Named, Row, UserRow } from '../connector.ts'
import { actionsOf, effectOfMethod, namedAction, oneAction, settledByServer } from '../named-action.ts'
import { isNearMiss, nearMiss } from './near-miss.ts'
import { compileRows, type RowTrie } from './row-trie.ts'
import { descend, lookUp, lookUpWrites, type PathSegments } from './rows.ts'
import { compileTemplate } from './template.ts'

/**
 * Returns the problems of the rows that a Connector declares, as sentences; empty if there are none. A row must name
 * an action of its own connector type, have a valid template, and be unique for its method and path.
 */
export function checkUserRows(type: string, rows: readonly UserRow[]): string[] {
  const problems = rows.map((row) => problemOf(type, row)).filter((problem) => problem !== null)
  return problems.length > 0 ? problems : clashesOf(rows)
}

function problemOf(type: string, row: UserRow): string | null {
  if (!row.action.startsWith(`${type}.`)) return `action ${row.action} must begin with ${type}.`
  try {
    compileTemplate(row.path)
    return null
  } catch (failure) {
    return failure instanceof Error ? failure.message : String(failure)
  }
}

function clashesOf(rows: readonly UserRow[]): string[] {
  const shapes = rows.map((row) => `${row.method} ${row.path.replaceAll(/\{[^}+/]*/g, '{')}`)
  return shapes
    .filter((shape, i) => shapes.indexOf(shape) !== i)
    .map((shape) => `two actions are declared for ${shape.replaceAll('{', '{…')}; remove one of them`)
}

/**
 * Compiles the valid rows that a Connector declares; null if there are none. A request that only an invalid row
 * describes counts as a request without a row.
 */
export function compileUserRows(type: string, rows: readonly UserRow[]): RowTrie | null {
  const usable = rows.filter(
    (row, i) => problemOf(type, row) === null && clashesOf(rows.slice(0, i + 1)).length === 0,
  )
  if (usable.length === 0) return null
  return compileRows(usable.map(toRow))
}

function toRow({ method, path, action, effect, risk, bodies, effects = [] }: UserRow): Row {
  const row = { method, template: path, type: action, effect, risk, effects }
  return bodies === 'opaque' ? { ...row, bodies } : row
}

/** Reports whether a row that the Connector declares with `bodies: opaque` describes the request. */
export function userRowIsOpaque(trie: RowTrie, request: CanonicalRequest): boolean {
  return readingsOf(trie, request).some((path) => {
    const match = lookUp(trie, request.method, path)
    return match !== null && !isRefusal(match) && match.rows[0]?.row.bodies === 'opaque'
  })
}

/**
 * Adds the write actions of all rows that the Connector declares for the path, whatever the method of the row, because
 * a server may execute any of them. Changes nothing for a request with a read method. Must be called only for a request
 * that neither a declared row nor a catalogue row describes.
 */
export function withDeclaredWrites(
  trie: RowTrie,
  connector: string,
  request: CanonicalRequest,
  named: Named,
  config: ConnectorConfig,
): Classification {
  if (effectOfMethod(request.method) === 'read') return named
  const declared: Action[] = []
  for (const path of readingsOf(trie, request)) {
    const writes = lookUpWrites(trie, path, 'every')
    if (isRefusal(writes)) return writes
    for (const { rows, parameters } of writes)
      declared.push(...rows.map(({ row }) => declaredAction(row, { connector, request, parameters, config })))
  }
  return declared.length === 0 ? named : settledByServer([...actionsOf(named), ...declared])
}

/**
 * Classifies the request by the rows that the Connector declares; null if none of them describes the request. If
 * servers may read the path in several ways, the rows of all these readings are candidates. Refuses a path that a
 * lenient server would resolve to a declared row.
 */
export function nameByUserRows(
  trie: RowTrie,
  connector: string,
  request: CanonicalRequest,
  config: ConnectorConfig,
): Classification | null {
  const actions: Action[] = []
  for (const path of readingsOf(trie, request)) {
    const match = lookUp(trie, request.method, path)
    if (isRefusal(match)) return match
    const row = match?.rows[0]?.row
    if (match === null || row === undefined) continue
    actions.push(declaredAction(row, { connector, request, parameters: match.parameters, config }))
  }
  const [first, ...others] = actions
  if (first === undefined) return isNearMiss(trie, request.method, request.segments) ? nearMiss() : null
  return others.length === 0 ? oneAction(first) : settledByServer(actions)
}

/**
 * Matches suffixes that frameworks read as a format, not as a part of the path (Rails: `/transfer.json` is
 * `/transfer`).
 */
const FORMAT = /^(.+)\.(?:json|xml)$/i

/**
 * Returns the paths that a framework may read in a request. The last one is the path as sent. For a path such as
 * `/transfer.json`, the first one is `/transfer`, if the template of a declared row ends with `/transfer`.
 */
function readingsOf(trie: RowTrie, { rawSegments, segments }: CanonicalRequest): readonly PathSegments[] {
  const sent = { rawSegments, segments }
  const word = FORMAT.exec(segments.at(-1) ?? '')?.[1]
  if (word === undefined) return [sent]
  const plain = { rawSegments: rawSegments.with(-1, word), segments: segments.with(-1, word) }
  const leaf = descend(trie.root, plain.segments, 0, 'literals')
  const rows = Object.values(leaf ?? {}).flatMap((each = []) => each)
  return rows.some(({ row }) => row.template.endsWith(`/${word}`)) ? [plain, sent] : [sent]
}

type Declared = {
  readonly connector: string
  readonly request: CanonicalRequest
  readonly parameters: Parameters
  readonly config: ConnectorConfig
}

function declaredAction({ type, effect, risk, effects }: Row, declared: Declared): Action {
  const { connector, request, parameters, config } = declared
  const target = request.host + request.rawPath
  return namedAction({ connector, type, effect, risk, target, parameters, effects }, config)
}
