import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
} from 'graphql'
import { isRefusal, type Refusal, refusal } from '../../../request/canonical.ts'
import { readValue, type Variables } from './values.ts'

/** A document is at most this long in tokens; real ones have hundreds. */
const MAX_TOKENS = 20_000
const MAX_FIELDS = 64

/** What one operation of a document asks for at its root, fragments resolved and conditions applied. */
export type Operation = {
  readonly kind: 'query' | 'mutation'
  readonly fields: readonly FieldNode[]
  readonly fragments: Fragments
  /** As sent, with the operation's own defaults for what was not. */
  readonly variables: Variables
}
export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>

/** One message as clients send it, its types not yet believed. */
export type Asked = {
  readonly query: string
  readonly operationName: string | null
  readonly variables: Variables
}

export function readOperation(asked: Asked): Operation | Refusal {
  const document = parseDocument(asked.query)
  if (isRefusal(document)) return document
  const operation = chooseOperation(document, asked.operationName)
  if (isRefusal(operation)) return operation
  const fragments: Fragments = new Map(
    document.definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  )
  const variables = withDefaults(operation, asked.variables)
  const fields = rootFields(operation.selectionSet, { fragments, variables })
  if (isRefusal(fields)) return fields
  if (operation.operation === 'subscription')
    return refusal('malformed_request', 'subscriptions are not served here')
  return { kind: operation.operation, fields, fragments, variables }
}

/**
 * Clients send the same documents with other variables, and reading one costs more than everything else about it.
 * Bounded by the characters kept, because a tree is many times its text.
 */
const known = new Map<string, DocumentNode>()
const MAX_KNOWN_CHARACTERS = 65_536
const MAX_KNOWN_DOCUMENT = 8_192
let knownCharacters = 0

function parseDocument(text: string): DocumentNode | Refusal {
  const found = known.get(text)
  if (found !== undefined) return found
  const parsed = readDocument(text)
  if (!isRefusal(parsed) && text.length <= MAX_KNOWN_DOCUMENT) remember(text, parsed)
  return parsed
}

function remember(text: string, parsed: DocumentNode): void {
  if (knownCharacters + text.length > MAX_KNOWN_CHARACTERS) {
    known.clear()
    knownCharacters = 0
  }
  known.set(text, parsed)
  knownCharacters += text.length
}

function readDocument(text: string): DocumentNode | Refusal {
  try {
    return parse(text, { noLocation: true, maxTokens: MAX_TOKENS })
  } catch (error) {
    // Deep nesting ends the parser's stack before its token limit.
    if (!(error instanceof GraphQLError || error instanceof RangeError)) throw error
    const reason = error instanceof GraphQLError ? error.message : 'it is nested too deeply'
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
      ? `the GraphQL document has ${operations.length} operations: say which one with operationName`
      : `the GraphQL document has ${named.length} operations called "${name.slice(0, 80)}"`,
  )
}

function withDefaults(operation: OperationDefinitionNode, sent: Variables): Variables {
  const all: Record<string, unknown> = { ...sent }
  for (const { variable, defaultValue } of operation.variableDefinitions ?? []) {
    const name = variable.name.value
    if (!Object.hasOwn(all, name) && defaultValue !== undefined) all[name] = readValue(defaultValue, {})
  }
  return all
}

type Scope = { readonly fragments: Fragments; readonly variables: Variables }

/** The fields that are really asked for. A condition that cannot be read counts as met: more is decided, never less. */
export function rootFields(set: SelectionSetNode, scope: Scope): readonly FieldNode[] | Refusal {
  const found: FieldNode[] = []
  const wrong = collect(set, scope, { found, open: new Set() })
  if (wrong !== null) return wrong
  return found.length <= MAX_FIELDS
    ? found
    : refusal('malformed_request', `one GraphQL operation may ask for ${MAX_FIELDS} fields at its root`)
}

type Collected = { readonly found: FieldNode[]; readonly open: Set<string> }

function collect(set: SelectionSetNode, scope: Scope, into: Collected): Refusal | null {
  for (const selection of set.selections) {
    if (isLeftOut(selection.directives ?? [], scope.variables)) continue
    if (selection.kind === Kind.FIELD) {
      into.found.push(selection)
      continue
    }
    const wrong =
      selection.kind === Kind.INLINE_FRAGMENT
        ? collect(selection.selectionSet, scope, into)
        : collectSpread(selection.name.value, scope, into)
    if (wrong !== null) return wrong
  }
  return null
}

function collectSpread(name: string, scope: Scope, into: Collected): Refusal | null {
  const fragment = scope.fragments.get(name)
  if (fragment === undefined || into.open.has(name)) {
    const what = fragment === undefined ? 'is not defined' : 'spreads itself'
    return refusal('malformed_request', `the GraphQL fragment "${name.slice(0, 80)}" ${what}`)
  }
  into.open.add(name)
  const wrong = collect(fragment.selectionSet, scope, into)
  into.open.delete(name)
  return wrong
}

function isLeftOut(directives: NonNullable<FieldNode['directives']>, variables: Variables): boolean {
  return directives.some(({ name, arguments: args }) => {
    const condition = args?.find((argument) => argument.name.value === 'if')
    const value = condition === undefined ? undefined : readValue(condition.value, variables)
    return (name.value === 'skip' && value === true) || (name.value === 'include' && value === false)
  })
}
