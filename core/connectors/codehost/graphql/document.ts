import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql'
import { isRefusal, type Refusal, refusal } from '../../../request/canonical.ts'
import { doubledName, readValue, type Variables } from './values.ts'

/** Maximum length of a document in tokens; real documents have hundreds. */
export const MAX_TOKENS = 20_000
/** Maximum total length of all documents of a request, in characters (UTF-16 code units). */
export const MAX_DOCUMENT_CHARS = 256 * 1024
export const MAX_FIELDS = 64
export const MAX_STEPS = 10_000

/** The root fields of one operation of a GraphQL document, with fragments resolved and conditions applied. */
export type Operation = {
  readonly kind: 'query' | 'mutation'
  readonly fields: readonly FieldNode[]
} & Scope

type Scope = {
  readonly fragments: Fragments
  /**
   * Values of the variables: those that the request sends, else the operation's defaults. Includes variables that the
   * operation does not declare.
   */
  readonly variables: Variables
  /** Remaining number of document nodes to visit. Nested fragments let a small document expand without limit. */
  readonly steps: { left: number }
}
export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>

/** One GraphQL message. The types of its variables are not validated. */
export type GraphqlRequest = {
  readonly query: string
  readonly operationName: string | null
  readonly variables: Variables
}

/**
 * Parses a GraphQL message and returns the operation that it executes. `share`: the number of messages in the batch,
 * which share the token budget.
 */
export function readOperation(request: GraphqlRequest, share = 1): Operation | Refusal {
  const document = parseDocument(request.query, Math.floor(MAX_TOKENS / share))
  if (isRefusal(document)) return document
  const operation = chooseOperation(document, request.operationName)
  if (isRefusal(operation)) return operation
  const fragments = fragmentsOf(document)
  if (isRefusal(fragments)) return fragments
  const variables = declaredVariables(operation, request.variables)
  if (isRefusal(variables)) return variables
  const scope: Scope = { fragments, variables, steps: { left: MAX_STEPS } }
  const fields = rootFields(operation.selectionSet, scope)
  if (isRefusal(fields)) return fields
  if (operation.operation === 'subscription')
    return refusal(
      'malformed_request',
      'the gateway does not support GraphQL subscriptions; send a query or mutation',
    )
  return {
    ...scope,
    variables: withUndeclared(variables, request.variables),
    kind: operation.operation,
    fields,
  }
}

/**
 * Cache of parsed documents: clients send the same documents with other variables, and parsing dominates the cost. The
 * total text length limits the cache, because a syntax tree is many times larger than its text.
 */
const known = new Map<string, { readonly text: string; readonly document: DocumentNode }>()
const MAX_KNOWN_CHARACTERS = 65_536
const MAX_KNOWN_DOCUMENT = 8_192
let knownCharacters = 0

function parseDocument(text: string, maxTokens: number): DocumentNode | Refusal {
  if (text.length > MAX_DOCUMENT_CHARS)
    return refusal(
      'body_too_large',
      `the GraphQL document is longer than ${MAX_DOCUMENT_CHARS} characters; send values as variables`,
    )
  const mark = markOf(text)
  const found = known.get(mark)
  if (found?.text === text) return found.document
  const parsed = readDocument(text, maxTokens)
  if (!isRefusal(parsed) && text.length <= MAX_KNOWN_DOCUMENT) remember(mark, text, parsed)
  return parsed
}

/** Returns the cache key of a document: its length, beginning and end. Hashing a whole text as a map key is slow. */
function markOf(text: string): string {
  return `${text.length} ${text.slice(0, 48)}${text.slice(-48)}`
}

function remember(mark: string, text: string, document: DocumentNode): void {
  if (knownCharacters + text.length > MAX_KNOWN_CHARACTERS) {
    known.clear()
    knownCharacters = 0
  }
  knownCharacters += text.length - (known.get(mark)?.text.length ?? 0)
  known.set(mark, { text, document })
}

function readDocument(text: string, maxTokens: number): DocumentNode | Refusal {
  try {
    return parse(text, { noLocation: true, maxTokens })
  } catch (error) {
    // Deep nesting overflows the parser's stack before its token limit.
    if (!(error instanceof GraphQLError || error instanceof RangeError)) throw error
    const reason = error instanceof GraphQLError ? error.message : 'the document is nested too deeply'
    return refusal('malformed_request', `the GraphQL document cannot be read: ${reason}`)
  }
}

function chooseOperation(document: DocumentNode, name: string | null): OperationDefinitionNode | Refusal {
  const operations = document.definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION)
  const named = name === null ? operations : operations.filter((one) => one.name?.value === name)
  const [first] = named
  if (first !== undefined && named.length === 1) return first
  return refusal(
    'ambiguous_request',
    name === null
      ? `the GraphQL document has ${operations.length} operations: select one with operationName`
      : `the GraphQL document has ${named.length} operations called "${name.slice(0, 80)}"; keep one of them`,
  )
}

function fragmentsOf(document: DocumentNode): Fragments | Refusal {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.FRAGMENT_DEFINITION) continue
    const name = definition.name.value
    if (fragments.has(name)) return repeatedName(`the fragment "${name.slice(0, 80)}"`)
    fragments.set(name, definition)
  }
  return fragments
}

/**
 * Returns the declared variables with their sent or default values. The object has no prototype, because a variable may
 * have any name.
 */
function declaredVariables(operation: OperationDefinitionNode, sent: Variables): Variables | Refusal {
  const all: Record<string, unknown> = Object.create(null)
  for (const { variable, defaultValue } of operation.variableDefinitions ?? []) {
    const name = variable.name.value
    if (Object.hasOwn(all, name)) return repeatedName(`the variable "$${name.slice(0, 80)}"`)
    const isSent = Object.hasOwn(sent, name)
    all[name] = isSent ? sent[name] : defaultValue === undefined ? undefined : readValue(defaultValue, {})
  }
  return all
}

/**
 * Adds the variables that the operation does not declare. A server that does not validate documents accepts these
 * variables in arguments.
 */
function withUndeclared(declared: Variables, sent: Variables): Variables {
  return Object.assign(Object.create(null), sent, declared)
}

function repeatedName(what: string): Refusal {
  return refusal(
    'ambiguous_request',
    `${what} of the GraphQL document is defined twice, and servers differ in which definition they use; remove one`,
  )
}

/**
 * Returns the fields of a selection set, such as that of the operation, with fragments expanded. A field whose `@skip`
 * or `@include` condition is unknown is included, so that the decision covers at least the executed fields.
 */
export function rootFields(set: SelectionSetNode, scope: Scope): readonly FieldNode[] | Refusal {
  const found: FieldNode[] = []
  const wrong = collect(set, scope, { found, open: new Set(), seen: new Set() })
  if (wrong !== null) return wrong
  return found.length <= MAX_FIELDS
    ? found
    : refusal(
        'malformed_request',
        `a GraphQL operation may select at most ${MAX_FIELDS} fields at its root; send several requests`,
      )
}

/**
 * State of a traversal of the document. `found`: root fields so far. `open`: fragments that contain the current node.
 * `seen`: visited fragments, which servers do not visit again.
 */
type Collected = { readonly found: FieldNode[]; readonly open: Set<string>; readonly seen: Set<string> }

function collect(set: SelectionSetNode, scope: Scope, into: Collected): Refusal | null {
  scope.steps.left -= set.selections.length
  if (scope.steps.left < 0)
    return refusal(
      'malformed_request',
      'the GraphQL document expands to too many fields; select fewer fields',
    )
  for (const selection of set.selections) {
    if (isLeftOut(selection.directives, scope.variables)) continue
    const wrong = collectOne(selection, scope, into)
    if (wrong !== null) return wrong
  }
  return null
}

function collectOne(selection: SelectionNode, scope: Scope, into: Collected): Refusal | null {
  if (selection.kind === Kind.INLINE_FRAGMENT) return collect(selection.selectionSet, scope, into)
  if (selection.kind === Kind.FRAGMENT_SPREAD) return collectSpread(selection.name.value, scope, into)
  into.found.push(selection)
  const twice = doubledName(selection)
  return twice === null ? null : repeatedName(`"${twice.slice(0, 80)}"`)
}

function collectSpread(name: string, scope: Scope, into: Collected): Refusal | null {
  const fragment = scope.fragments.get(name)
  if (fragment === undefined || into.open.has(name)) {
    const what = fragment === undefined ? 'is not defined' : 'refers to itself'
    return refusal('malformed_request', `the GraphQL fragment "${name.slice(0, 80)}" ${what}`)
  }
  if (into.seen.has(name)) return null
  into.seen.add(name)
  into.open.add(name)
  const wrong = collect(fragment.selectionSet, scope, into)
  into.open.delete(name)
  return wrong
}

/**
 * Reports whether `@skip` or `@include` omits the field. A repeated directive is ignored, because servers apply the
 * first, the last or none.
 */
function isLeftOut(directives: FieldNode['directives'], variables: Variables): boolean {
  if (directives === undefined || directives.length === 0) return false
  return (
    condition(directives, 'skip', variables) === true || condition(directives, 'include', variables) === false
  )
}

function condition(
  directives: NonNullable<FieldNode['directives']>,
  name: 'skip' | 'include',
  variables: Variables,
): unknown {
  const [directive, ...more] = directives.filter((one) => one.name.value === name)
  const [argument, ...others] = directive?.arguments ?? []
  const isOnce = more.length === 0 && others.length === 0 && argument?.name.value === 'if'
  return isOnce ? readValue(argument.value, variables) : undefined
}
