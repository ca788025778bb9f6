import { type CanonicalRequest, isRefusal, type Refusal } from '../../request/canonical.ts'
import type { BodyView, Row } from '../connector.ts'
import { once } from '../once.ts'
import type { MemberPathsOf } from '../rows/row-connector.ts'
import type { RowAlias } from '../rows/row-trie.ts'
import type { PathSegments } from '../rows/rows.ts'
import {
  fieldNamesOf,
  judgeModel,
  MODEL_PATHS,
  readFieldNames,
  readQueryNames,
  snakeCase,
} from './resource-bodies.ts'
import {
  joinVerb,
  judgeVerbs,
  splitVerb,
  VERSION_ALIASES,
  verbsOf,
  withVerbSegments,
} from './resource-paths.ts'

/** How an API spells what its rows describe. */
export type ApiStyle = {
  /** First segment of the templates, with which a base URL may end. */
  readonly root: string
  readonly aliases: readonly RowAlias[]
  /** The rows with the templates of the tree. */
  rows(): readonly Row[]
  /** A path of a request in the segments of the tree. */
  path(path: PathSegments): PathSegments
  /** Request and body with the names of the rows; a refusal where servers could read them in two ways. */
  read(request: CanonicalRequest, body: BodyView | undefined): Reading | Refusal
  /** What is read of a body beside the fields of the rows, and the spellings of these. */
  readonly body: MemberPathsOf
  /** The target of a request that was made from one of `rows`. */
  target(target: string): string
}

type Reading = { readonly request: CanonicalRequest; readonly body: BodyView | undefined }

/** Paths part at slashes, fields have one name. */
export function plainStyle(rows: () => readonly Row[]): ApiStyle {
  return {
    ...{ root: 'v1', aliases: [], rows },
    path: (path) => path,
    read: (request, body) => ({ request, body }),
    body: { paths: [], spellings: (name) => [name] },
    target: (target) => target,
  }
}

/** Resource names with custom verbs, and protobuf JSON. */
export function resourceStyle(published: () => readonly Row[]): ApiStyle {
  const rows = once(() => withVerbSegments(published()))
  const verbs = once(() => verbsOf(published()))
  const names = once(() => fieldNamesOf(published()))
  return {
    ...{ root: 'v1beta', aliases: VERSION_ALIASES, rows },
    path: (path) => splitVerb(path, verbs()),
    read: (request, body) => {
      const wrong = judgeVerbs(request, verbs()) ?? judgeModel(splitVerb(request, verbs()), body)
      if (wrong !== null) return wrong
      const view = readFieldNames(body, names())
      if (view !== undefined && isRefusal(view)) return view
      const query = readQueryNames(request.query, names())
      return { request: query === request.query ? request : { ...request, query }, body: view }
    },
    body: { paths: MODEL_PATHS, spellings: (name) => [name, snakeCase(name)] },
    target: joinVerb,
  }
}
