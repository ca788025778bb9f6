import type { Action, Parameters } from '../action/action.ts'
import { type CanonicalRequest, isRefusal, type Refusal, refusal } from '../request/canonical.ts'
import type { BodyView, Classification, ConnectorConfig, Row } from './connector.ts'
import { pickFields } from './fields.ts'
import { namedAction, oneAction, unmappedAction } from './named-action.ts'
import { bodyKeys, chooseRows } from './row-choice.ts'
import {
  isNearMiss,
  lookUp,
  nearMiss,
  type PathSegments,
  pathParameter,
  type RowMatch,
  type RowTrie,
} from './rows.ts'

/** How one connector names requests by rows. */
export type RowNaming = {
  readonly connector: string
  /** The trees to look in for this request, and the path without a self-hosted prefix. */
  surface(
    request: CanonicalRequest,
    config: ConnectorConfig,
  ): { tries: readonly RowTrie[]; path: PathSegments }
  /** Who is acted upon, from the template's and the row's parameters. */
  resource(parameters: Parameters): {
    readonly target?: string | undefined
    readonly account?: string | undefined
  }
}

/** Names a request by the connector's rows; what no row describes is `<connector>.unmapped.<method>`. */
export function parseByRows(
  naming: RowNaming,
  request: CanonicalRequest,
  body: BodyView | undefined,
  config: ConnectorConfig,
): Classification {
  const match = findRows(naming, request, config)
  if (isRefusal(match)) return match
  const rows = match === null ? [] : chooseRows(match.rows, request, body)
  if (isRefusal(rows)) return rows
  if (match === null || rows.length === 0) return oneAction(unmappedAction(naming.connector, request, config))
  const actions = rows.map(({ row }) => actionOf(naming, row, { match, request, body, config }))
  return rows.length === 1 ? { kind: 'actions', actions } : { kind: 'candidates', candidates: actions }
}

/** Top-level body keys that the class of this request depends on. */
export function rowKeys(
  naming: RowNaming,
  request: CanonicalRequest,
  config: ConnectorConfig,
): readonly string[] {
  const match = findRows(naming, request, config)
  return match === null || isRefusal(match) || match.rows.length === 1 ? [] : bodyKeys(match.rows)
}

function findRows(
  naming: RowNaming,
  request: CanonicalRequest,
  config: ConnectorConfig,
): RowMatch | Refusal | null {
  const { tries, path } = naming.surface(request, config)
  for (const trie of tries) {
    const match = lookUp(trie, request.method, path)
    if (match !== null) return match
  }
  return judgeUnmatched(tries, path)
}

/** A path without a row may still be one that another server reads as a listed one: that is refused, not named. */
function judgeUnmatched(tries: readonly RowTrie[], path: PathSegments): Refusal | null {
  if (path.segments.some((segment) => segment.includes('/'))) {
    return refusal(
      'ambiguous_request',
      'the path holds an encoded slash (%2F) where no parameter may hold one',
    )
  }
  if (path.rawSegments.some((segment) => segment.includes(';'))) return pathParameter()
  return tries.some((trie) => isNearMiss(trie, path.segments)) ? nearMiss() : null
}

type Found = {
  readonly match: RowMatch
  readonly request: CanonicalRequest
  readonly body: BodyView | undefined
  readonly config: ConnectorConfig
}

function actionOf(naming: RowNaming, row: Row, found: Found): Action {
  const fields = pickFields(row.parameters, found.request.query, found.body)
  const parameters = { ...fields, ...found.match.parameters }
  const { type, effect, risk, hints } = row
  const parts = {
    connector: naming.connector,
    type,
    effect,
    risk,
    hints,
    parameters,
    ...naming.resource(parameters),
  }
  return namedAction(parts, found.config)
}
