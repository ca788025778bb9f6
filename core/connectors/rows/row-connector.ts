import type { Action, Parameters } from '../../action/action.ts'
import { type CanonicalRequest, isRefusal, type Refusal, refusal } from '../../request/canonical.ts'
import type { BodyView, Classification, ConnectorConfig, Row } from '../connector.ts'
import { isRecord, judgeRepeated, judgeSpelling, pickFields } from '../fields/fields.ts'
import { namedAction, oneAction, settledByServer, unmappedAction } from '../named-action.ts'
import { type Below, isNearMiss, isNearPrefix, isStricterElsewhere, nearMiss } from './near-miss.ts'
import { bodyKeys, chooseRows } from './row-choice.ts'
import type { CompiledRow, RowTrie } from './row-trie.ts'
import { lookUp, lookUpWrites, type PathSegments, pathParameter, type RowMatch } from './rows.ts'

/** Configuration for classifying the requests of one connector type by catalogue rows. */
export type RowClassifier = {
  readonly connector: string
  /**
   * Returns the rows that apply to this request, and the path of the request without the prefix of a self-hosted
   * instance.
   */
  surface(
    request: CanonicalRequest,
    config: ConnectorConfig,
  ): { tries: readonly RowTrie[]; path: PathSegments }
  /** Returns the prefixes of a self-hosted instance and the rows below them; null if there are none. */
  below?(config: ConnectorConfig): Below | null
  /** Body formats that the API accepts. The gateway cannot read fields in other formats. */
  readonly formats: ReadonlySet<'json' | 'form'>
  /** Fields that every operation of the API may read, in addition to those of its row. */
  readonly always?: readonly string[]
  /**
   * Fields that become parameters if the body is readable. An unreadable body is not refused because of these fields.
   */
  readonly further?: readonly string[]
  /** Returns the affected resource, as determined by the parameters of the action. */
  resource(parameters: Parameters): {
    readonly target?: string | undefined
    readonly account?: string | undefined
  }
}

/**
 * Classifies a request by the connector's catalogue rows. A request without a row is `<connector>.unmapped.<method>`.
 * For a write method without a row, a server may execute a write row that the path has for another method. The actions
 * of these rows are then candidates too.
 */
export function parseByRows(
  classifier: RowClassifier,
  request: CanonicalRequest,
  body: BodyView | undefined,
  config: ConnectorConfig,
): Classification {
  const match = findRows(classifier, request, config)
  if (isRefusal(match)) return match
  const rows = match === null ? [] : chooseRows(match.rows, request, body)
  if (isRefusal(rows)) return rows
  if (match === null || rows.length === 0) return nameUnmapped(classifier, request, body, config)
  const unread = judgeFields(classifier, rows, body)
  if (unread !== null) return unread
  const misnamed = judgeNames(classifier, rows, request, body)
  if (misnamed !== null) return misnamed
  const actions = rows.map(({ row }) => actionOf(classifier, row, { match, request, body, config }))
  return rows.length === 1 ? { kind: 'actions', actions } : { kind: 'candidates', candidates: actions }
}

/** Refuses fields that are sent twice, or under a name that only some servers treat as the name of the field. */
function judgeNames(
  classifier: RowClassifier,
  rows: readonly CompiledRow[],
  { query }: CanonicalRequest,
  body: BodyView | undefined,
): Refusal | null {
  const { always } = classifier
  for (const { row } of rows) {
    const hasPairs = query.length > 0 || body?.kind === 'form'
    const repeated = hasPairs ? judgeRepeated(row, query, body) : null
    if (repeated !== null) return repeated
  }
  for (const { row } of rows) {
    const misspelt = judgeSpelling(fieldNames(classifier, row), query, body, always)
    if (misspelt !== null) return misspelt
  }
  return null
}

function nameUnmapped(
  classifier: RowClassifier,
  request: CanonicalRequest,
  body: BodyView | undefined,
  config: ConnectorConfig,
): Classification {
  const unmapped = unmappedAction(classifier.connector, request, config)
  if (unmapped.effect === 'read') return oneAction(unmapped)
  const { tries, path } = classifier.surface(request, config)
  const found = { request, body, config }
  const actions = [unmapped]
  for (const trie of tries) {
    const writes = lookUpWrites(trie, path)
    if (isRefusal(writes)) return writes
    const unread = judgeFields(
      classifier,
      writes.flatMap(({ rows }) => rows),
      body,
    )
    if (unread !== null) return unread
    for (const match of writes)
      actions.push(...match.rows.map(({ row }) => actionOf(classifier, row, { match, ...found })))
  }
  return settledByServer(actions)
}

function judgeFields(
  classifier: RowClassifier,
  rows: readonly CompiledRow[],
  body: BodyView | undefined,
): Refusal | null {
  const hasFields = rows.some(
    ({ row }) => row.bodyIsContent !== true && fieldNames(classifier, row).length > 0,
  )
  return hasFields ? judgeUnread(classifier, body) : null
}

/** Returns the top-level body keys that the classification of this request depends on. */
export function rowKeys(
  classifier: RowClassifier,
  request: CanonicalRequest,
  config: ConnectorConfig,
): readonly string[] {
  const match = findRows(classifier, request, config)
  return match === null || isRefusal(match) || match.rows.length === 1 ? [] : bodyKeys(match.rows)
}

/**
 * Returns the paths of the JSON members that classify and describe a request: the fields of its rows, and those of
 * `others`. Null for requests without a body, and for file uploads.
 */
export function describedMembers(
  classifier: RowClassifier,
  request: CanonicalRequest,
  config: ConnectorConfig,
  others: MemberPathsOf,
): readonly string[] | null {
  const match = findRows(classifier, request, config)
  if (match === null && WITH_BODY.has(request.method)) return others.paths
  if (match === null || isRefusal(match) || !match.rows.every(({ row }) => hasJson(row))) return null
  const known = described.get(match.rows)
  if (known !== undefined) return known
  const names = match.rows.flatMap(({ row }) => fieldNames(classifier, row))
  const members = [...new Set([...bodyKeys(match.rows), ...names.flatMap(others.spellings), ...others.paths])]
  described.set(match.rows, members)
  return members
}

/** JSON members that an API reads besides the fields of its rows, and the alternative spellings of a field. */
export type MemberPathsOf = {
  readonly paths: readonly string[]
  readonly spellings: (name: string) => readonly string[]
}

const described = new WeakMap<readonly CompiledRow[], readonly string[]>()

const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/**
 * Reports whether a request of this row may have a JSON body. An upload whose row has fields may send them as JSON
 * instead of a form.
 */
function hasJson({ effect, bodies, method, parameters = [] }: Row): boolean {
  return WITH_BODY.has(method) && (bodies !== 'opaque' || effect === 'compute' || parameters.length > 0)
}

/**
 * Reports whether every row of this method and path declares that the gateway may hold and forward the body unread
 * (`bodies: 'opaque'`).
 */
export function rowsAreOpaque(
  classifier: RowClassifier,
  request: CanonicalRequest,
  config: ConnectorConfig,
): boolean {
  return everyRow(findRows(classifier, request, config), ({ bodies }) => bodies === 'opaque')
}

/** True if every row of this method and path needs no credential. */
export function rowsAreAnonymous(
  classifier: RowClassifier,
  request: CanonicalRequest,
  config: ConnectorConfig,
): boolean {
  return everyRow(findRows(classifier, request, config), ({ isAnonymous }) => isAnonymous === true)
}

function everyRow(match: Match, holds: (row: Row) => boolean): boolean {
  return match !== null && !isRefusal(match) && match.rows.every(({ row }) => holds(row))
}

type Match = RowMatch | Refusal | null
type LastMatch = {
  readonly request: CanonicalRequest
  readonly config: ConnectorConfig
  readonly match: Match
}

/** Cache of the last match of each classifier, because several steps of one request look up its rows. */
const last = new WeakMap<RowClassifier, LastMatch>()

function findRows(classifier: RowClassifier, request: CanonicalRequest, config: ConnectorConfig): Match {
  const known = last.get(classifier)
  if (known?.request === request && known.config === config) return known.match
  const match = matchRows(classifier, request, config)
  last.set(classifier, { request, config, match })
  return match
}

function matchRows(classifier: RowClassifier, request: CanonicalRequest, config: ConnectorConfig): Match {
  const { tries, path } = classifier.surface(request, config)
  for (const trie of tries) {
    const match = lookUp(trie, request.method, path)
    if (match === null) continue
    if (isRefusal(match)) return match
    return isStricterElsewhere(trie, request.method, path.segments, match.rows) ? nearMiss() : match
  }
  const below = classifier.below?.(config) ?? null
  if (below !== null && isNearPrefix(below, request.segments)) return nearMiss()
  return judgeUnmatched(tries, request.method, path)
}

/**
 * Refuses a path without a row if the path has an encoded slash or a `;`, or if a lenient server would resolve the path
 * to a row.
 */
function judgeUnmatched(tries: readonly RowTrie[], method: string, path: PathSegments): Refusal | null {
  if (path.segments.some((segment) => segment.includes('/'))) {
    return refusal(
      'ambiguous_request',
      'the path has an encoded slash (%2F) in a segment that must not have a slash; remove the encoded slash',
    )
  }
  if (path.rawSegments.some((segment) => segment.includes(';'))) return pathParameter()
  return tries.some((trie) => isNearMiss(trie, method, path.segments)) ? nearMiss() : null
}

/**
 * Refuses a body that may contain fields of the row in a format that the gateway cannot read as the API does. Many
 * servers parse JSON and forms regardless of the media type.
 */
function judgeUnread({ formats, always }: RowClassifier, body: BodyView | undefined): Refusal | null {
  if (body?.kind === 'invalid') return refusal('malformed_request', body.detail)
  if (always !== undefined && body?.kind === 'json' && !isRecord(body.value))
    return refusal('malformed_request', 'the JSON of the body must be an object')
  const isHidden = body?.kind === 'opaque' || (body?.kind === 'form' && !formats.has('form'))
  if (!isHidden) return null
  const wanted = formats.has('form')
    ? 'application/json or application/x-www-form-urlencoded'
    : 'application/json'
  return refusal(
    'unsupported_body',
    `the rules for this request depend on its body; send the body as ${wanted}`,
  )
}

type Found = {
  readonly match: RowMatch
  readonly request: CanonicalRequest
  readonly body: BodyView | undefined
  readonly config: ConnectorConfig
}

function fieldNames({ always = NONE }: RowClassifier, { parameters = NONE }: Row): readonly string[] {
  return always.length === 0 ? parameters : [...new Set([...parameters, ...always])]
}

const NONE: readonly string[] = []

function actionOf(classifier: RowClassifier, row: Row, found: Found): Action {
  const { further = NONE } = classifier
  const own = fieldNames(classifier, row)
  const names = further.length === 0 ? own : [...new Set([...own, ...further])]
  const fields = pickFields(names, found.request.query, found.body)
  const parameters = { ...fields, ...found.match.parameters }
  const { type, effect, risk, hints } = row
  const parts = {
    connector: classifier.connector,
    type,
    effect,
    risk,
    hints,
    parameters,
    ...classifier.resource(parameters),
  }
  return namedAction(parts, found.config)
}
