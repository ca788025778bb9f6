import { type FieldNode, Kind, type ObjectValueNode, parse } from 'graphql'
import { isRefusal } from '../../../request/canonical.ts'
import { spanOf } from '../../../request/json-span.ts'
import { isRecord } from '../../fields/fields.ts'
import { type GraphqlRequest, readOperation } from './document.ts'

/** A GraphQL message with an added commit id. `member`: the input member that holds the commit id. */
export type Completed = { readonly text: string; readonly member: string }

/**
 * Mutations that state an expected commit, with the name of the input member that holds this commit. The code host
 * refuses these mutations if the branch is at another commit.
 */
const MEMBERS: ReadonlyMap<string, string> = new Map([
  ['mergePullRequest', 'expectedHeadOid'],
  ['enqueuePullRequest', 'expectedHeadOid'],
  ['updatePullRequestBranch', 'expectedHeadOid'],
  ['addPullRequestReview', 'commitOID'],
])
const COMMIT = /^[0-9a-f]{7,64}$/i

/**
 * Adds the expected commit to the input of the only mutation of a GraphQL message, in its variables or in its document.
 * The other characters stay unchanged. Null if the message has another form or already names a commit. `text`: JSON
 * that `parseStrictJson` accepted.
 */
export function completeMutation(text: string, commit: string): Completed | null {
  const message = readMessage(text)
  const field = message === null ? null : onlyField(message.query, message.operationName)
  const member = MEMBERS.get(field?.name.value ?? '')
  const input = field?.arguments?.find((argument) => argument.name.value === 'input')?.value
  if (!COMMIT.test(commit) || message === null || member === undefined) return null
  if (input?.kind === Kind.VARIABLE)
    return inVariable(text, { variable: input.name.value, given: message.variables, member, commit })
  const added = input?.kind === Kind.OBJECT ? inDocument(message.query, input, { member, commit }) : null
  return added === null ? null : replaced(text, ['query'], () => JSON.stringify(added), member)
}

/** Parses a GraphQL message with exactly one mutation; null for any other text. */
function readMessage(text: string): GraphqlRequest | null {
  const message: unknown = JSON.parse(text)
  if (!isRecord(message) || typeof message['query'] !== 'string') return null
  const { query, operationName, variables } = message
  const asked: GraphqlRequest = {
    query,
    operationName: typeof operationName === 'string' ? operationName : null,
    variables: isRecord(variables) ? variables : {},
  }
  const operation = readOperation(asked)
  const isOne = !isRefusal(operation) && operation.kind === 'mutation' && operation.fields.length === 1
  return isOne ? asked : null
}

/**
 * Returns the only root field of the operation, with its position in the text; null if a fragment contains the field.
 */
function onlyField(query: string, name: string | null): FieldNode | null {
  const operations = parse(query).definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION)
  const operation = name === null ? operations[0] : operations.find((one) => one.name?.value === name)
  const [selection, ...others] = operation?.selectionSet.selections ?? []
  return selection?.kind === Kind.FIELD && others.length === 0 ? selection : null
}

function inDocument(
  query: string,
  { fields, loc }: ObjectValueNode,
  { member, commit }: Pick<InVariable, 'member' | 'commit'>,
): string | null {
  if (loc === undefined || fields.some((one) => one.name.value === member)) return null
  const at = loc.start + 1
  const rest = fields.length === 0 ? '' : ', '
  return `${query.slice(0, at)}${member}: "${commit}"${rest}${query.slice(at)}`
}

type InVariable = {
  readonly variable: string
  readonly given: Readonly<Record<string, unknown>>
  readonly member: string
  readonly commit: string
}

function inVariable(text: string, { variable, given, member, commit }: InVariable): Completed | null {
  const value = given[variable]
  if (!isRecord(value) || Object.hasOwn(value, member)) return null
  const rest = Object.keys(value).length === 0 ? '' : ','
  const added = (old: string) => `{${JSON.stringify(member)}:${JSON.stringify(commit)}${rest}${old.slice(1)}`
  return replaced(text, ['variables', variable], added, member)
}

function replaced(
  text: string,
  path: readonly string[],
  change: (old: string) => string,
  member: string,
): Completed | null {
  const span = spanOf(text, path)
  if (span === null) return null
  const { start, end } = span
  return { text: text.slice(0, start) + change(text.slice(start, end)) + text.slice(end), member }
}
