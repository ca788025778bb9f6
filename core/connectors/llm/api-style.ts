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

/** Conventions of a model provider's API for request paths and field names. */
export type ApiStyle = {
  /** First segment of the templates. A base URL may end with this segment. */
  readonly root: string
  readonly aliases: readonly RowAlias[]
  /** Returns the catalogue rows, with templates in the form that the trie requires. */
  rows(): readonly Row[]
  /** Converts a request path to the segments of the trie. */
  path(path: PathSegments): PathSegments
  /**
   * Returns request and body with the field names of the rows. Returns a refusal if servers could read the names in
   * two ways.
   */
  read(request: CanonicalRequest, body: BodyView | undefined): Reading | Refusal
  /** Body members that the gateway reads in addition to the fields of the rows, and the spellings of these fields. */
  readonly body: MemberPathsOf
  /** Converts a target that was built from one of `rows` to the target of a request. */
  target(target: string): string
}

type Reading = { readonly request: CanonicalRequest; readonly body: BodyView | undefined }

/** Returns the conventions of an API with slash-separated paths and one spelling for each field. */
export function plainStyle(rows: () => readonly Row[]): ApiStyle {
  return {
    root: 'v1',
    aliases: [],
    rows,
    path: (path) => path,
    read: (request, body) => ({ request, body }),
    body: { paths: [], spellings: (name) => [name] },
    target: (target) => target,
  }
}

/** Returns the conventions of an API with resource names, custom verbs (AIP-136) and protobuf JSON. */
export function resourceStyle(published: () => readonly Row[]): ApiStyle {
  const rows = once(() => withVerbSegments(published()))
  const verbs = once(() => verbsOf(published()))
  const names = once(() => fieldNamesOf(published()))
  return {
    root: 'v1beta',
    aliases: VERSION_ALIASES,
    rows,
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
