import { type FieldNode, Kind, type ObjectValueNode, parse } from 'graphql'
import { isRefusal } from '../../../request/canonical.ts'
import { isRecord } from '../../fields.ts'
import { readOperation } from './document.ts'

/** A text that is changed, and the member that it has now. */
export type Completed = { readonly text: string; readonly member: string }

/** Mutations whose input takes the commit that must still be there. */
const MEMBERS: ReadonlyMap<string, string> = new Map([
  ['mergePullRequest', 'expectedHeadOid'],
  ['enablePullRequestAutoMerge', 'expectedHeadOid'],
  ['enqueuePullRequest', 'expectedHeadOid'],
  ['updatePullRequestBranch', 'expectedHeadOid'],
  ['addPullRequestReview', 'commitOID'],
])
const COMMIT = /^[0-9a-f]{7,64}$/i

/**
 * Adds the commit to the input of the only mutation of a request, in its variables or in its document; the rest of the text
 * stays as it is. Null where the request has another form, or names a commit. `text`: JSON that was read strictly.
 */
export function completeMutation(text: string, commit: string): Completed | null {
  const asked: unknown = JSON.parse(text)
  if (!COMMIT.test(commit) || !isRecord(asked) || typeof asked['query'] !== 'string') return null
  const { query, operationName, variables } = asked
  const given = isRecord(variables) ? variables : {}
  const name = typeof operationName === 'string' ? operationName : null
  const operation = readOperation({ query, operationName: name, variables: given })
  // Named by its only action already, so that the document is known to be readable.
  if (isRefusal(operation) || operation.kind !== 'mutation' || operation.fields.length !== 1) return null
  const field = onlyField(query, name)
  const member = MEMBERS.get(field?.name.value ?? '')
  const input = field?.arguments?.find((argument) => argument.name.value === 'input')?.value
  if (member === undefined || input === undefined) return null
  if (input.kind === Kind.VARIABLE)
    return inVariable(text, { variable: input.name.value, given, member, commit })
  const added = input.kind === Kind.OBJECT ? inDocument(query, input, { member, commit }) : null
  return added === null ? null : replaced(text, ['query'], () => JSON.stringify(added), member)
}

/** With its place in the text; null where it stands in a fragment. */
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
  let span: Span | null = { start: skipBlanks(text, 0), end: text.length }
  for (const name of path) span = span === null ? null : valueOf(text, span.start, name)
  if (span === null) return null
  const { start, end } = span
  return { text: text.slice(0, start) + change(text.slice(start, end)) + text.slice(end), member }
}

type Span = { readonly start: number; readonly end: number }

/** Where the value of a member of the object at `open` stands. */
function valueOf(text: string, open: number, name: string): Span | null {
  for (let at = skipBlanks(text, open + 1); text[at] === '"'; ) {
    const keyEnd = stringEnd(text, at)
    const start = skipBlanks(text, skipBlanks(text, keyEnd) + 1)
    const end = valueEnd(text, start)
    if (JSON.parse(text.slice(at, keyEnd)) === name) return { start, end }
    at = skipBlanks(text, skipBlanks(text, end) + 1)
  }
  return null
}

function valueEnd(text: string, start: number): number {
  if (text[start] === '"') return stringEnd(text, start)
  if (text[start] !== '{' && text[start] !== '[') return endOf(/[\s,\]}]/g, text, start)
  let depth = 0
  for (let at = start; at < text.length; ) {
    const one = text[at] ?? ''
    if (one === '"') at = stringEnd(text, at)
    else {
      at += 1
      depth += '{['.includes(one) ? 1 : ']}'.includes(one) ? -1 : 0
      if (depth === 0) return at
    }
  }
  return text.length
}

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += text[at] === '\\' ? 2 : 1)
    if (text[at] === '"') return at + 1
  return text.length
}

function skipBlanks(text: string, from: number): number {
  return endOf(/[^\s]/g, text, from)
}

function endOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? text.length
}
