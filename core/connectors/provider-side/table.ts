import type { FindRules } from '../../request/json/member-finder.ts'
import { isProviderKind, type ProviderKind } from './kinds.ts'

/** Text tables of the tools, request fields and operations that make one model provider perform acts. */
export type ProviderTable = {
  readonly connector: string
  /** Source of the table: package, version and date. */
  readonly source: string
  /**
   * Tools, one per line: type of the tool, or a prefix of types with `*`; then the kinds of its acts, `caller` if
   * the caller executes the tool, or `-` if the tool only computes or contains tools. `unless=MEMBER` cancels the
   * line if that member of the tool is `false`. The first matching line counts.
   */
  readonly tools: string
  /**
   * Fields, one per line: end of a member path (see `FindRules`), kinds of acts, and how the target is read. The target
   * is the `host` of a URL, the `name` of a host, a `call` (host of a SIP URI, or a phone number), a `text`, `unread`
   * for the name of a resource that contains requests, `of=MEMBER` for the text of another member of the same object,
   * `is=TEXT` for a fixed target, or `none`. A line may end with the value that the field must have (`=true`), a text
   * that it must contain (`~-search-`), or values in lower case that it must not have (`!false|0`).
   */
  readonly fields: string
  /**
   * Operations, one per line: name without the connector prefix, then the kinds of acts. `of=PARAMETER` follows if
   * a parameter of the action, and not its resource, names the target.
   */
  readonly operations: string
  /** Names of members with arbitrary JSON of the caller. The scan does not search them (see `FindRules`). */
  readonly opaque: readonly string[]
  /**
   * Names of members that the scan searches if they contain a list, but not if they contain an object (see
   * `FindRules`).
   */
  readonly opaqueObjects?: readonly string[]
  /**
   * Names of members whose object has keys of the caller's choice. The provider uses the values under these keys (see
   * `FindRules`). In `fields`, `?` stands for such a key.
   */
  readonly callerKeys?: readonly string[]
  /**
   * True if the provider accepts a single value in place of a list (protobuf JSON). Each field with `*` then also
   * matches without it.
   */
  readonly singleValues?: boolean
  /** Paths of tools in a request, in addition to `tools.*`. */
  readonly toolPlaces: readonly string[]
  /** Paths of lists of tools. The caller executes each tool in such a list that has no `type`. */
  readonly callerTools?: readonly string[]
  /** True if tools are identified by the names of their members (`googleSearch`) instead of by `type`. */
  readonly toolsByName?: boolean
  /** Operations that may use tools and whose messages the gateway does not read. */
  readonly unreadOperations?: readonly string[]
  /** Operations that upload files which may contain model requests, one JSON object per line, as a multipart form. */
  readonly batchUploads?: readonly string[]
  /** Values of the form field `purpose` of files that contain model requests or messages for a model. */
  readonly batchPurposes?: readonly string[]
  /**
   * Operations with `bodies: 'opaque'` that accept their fields as a multipart form, which may contain tools or URLs.
   */
  readonly readForms?: readonly string[]
  /** Matches URLs of the provider itself. The provider fetches nothing from other hosts for these URLs. */
  readonly ownFile?: RegExp
}

export type ToolRow = {
  readonly type: string
  readonly isPrefix: boolean
  readonly kinds: readonly ProviderKind[]
  /** True if the caller executes the tool. */
  readonly isOfCaller: boolean
  /** Member of the tool that disables the act if it is `false`; null if there is none. */
  readonly unless: string | null
}

export type FieldRow = {
  readonly end: string
  /** Last key of the member path `end`, and the keys before it. */
  readonly name: string
  readonly parents: readonly string[]
  /** True if the member path `end` begins at the root (`^`). */
  readonly isRooted: boolean
  readonly kinds: readonly ProviderKind[]
  readonly target: 'host' | 'name' | 'call' | 'text' | 'unread' | 'none'
  /** Member of the same object that names the target; null if the field itself does. */
  readonly member: string | null
  /** Target that does not depend on the value of the field; null if there is none. */
  readonly fixed: string | null
  readonly value: { readonly by: 'equals' | 'contains' | 'except'; readonly text: string } | null
}

export type OperationRow = {
  readonly kinds: readonly ProviderKind[]
  /** Parameter of the action that names the target if the resource of the action does not; null if there is none. */
  readonly parameter: string | null
}

export type CompiledTable = {
  readonly table: ProviderTable
  readonly tools: readonly ToolRow[]
  readonly fields: readonly FieldRow[]
  readonly fieldsByName: ReadonlyMap<string, readonly FieldRow[]>
  readonly operations: ReadonlyMap<string, OperationRow>
  readonly find: FindRules
  readonly toolPlaces: ReadonlyArray<readonly string[]>
  readonly callerTools: ReadonlyArray<readonly string[]>
}

export function compileTable(table: ProviderTable): CompiledTable {
  const fields = linesOf(table.fields)
    .flatMap((line) => (table.singleValues === true ? withSingleValue(line) : [line]))
    .map(readField)
  const toolPlaces = ['tools.*', ...table.toolPlaces]
  const tools = linesOf(table.tools).map(readTool)
  const { callerTools = [] } = table
  const toolEnds = toolPlaces.flatMap((place) => [
    ...(table.toolsByName === true ? [`${place}.?`, `${place}.type`] : [`${place}.type`]),
    ...tools.flatMap(({ unless }) => (unless === null ? [] : [`${place}.${unless}`])),
  ])
  return {
    table,
    fields,
    tools,
    fieldsByName: Map.groupBy(fields, ({ name }) => name),
    operations: new Map(linesOf(table.operations).map((line) => readOperation(table, line))),
    find: {
      ends: [
        ...new Set([...toolEnds, ...callerTools.map((place) => `${place}.*`), ...fields.flatMap(endsOf)]),
      ],
      opaque: table.opaque,
      opaqueObjects: table.opaqueObjects,
      callerKeys: table.callerKeys,
    },
    toolPlaces: toolPlaces.map((place) => place.split('.')),
    callerTools: callerTools.map((place) => place.split('.')),
  }
}

/** Returns a line, and the line without the list in its path if there is one. */
function withSingleValue(line: readonly string[]): ReadonlyArray<readonly string[]> {
  const [end = '', ...more] = line
  return end.includes('.*') ? [line, [end.replace('.*', ''), ...more]] : [line]
}

/** Returns the ends of the member paths that a row reads. */
function endsOf({ end, name, member }: FieldRow): readonly string[] {
  return member === null ? [end] : [end, end.slice(0, end.length - name.length) + member]
}

/** Splits lines into words; a line that begins with `#` is a comment. */
function linesOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(/\s+/))
}

function readTool([type = '', kinds = '', condition]: readonly string[]): ToolRow {
  if (condition !== undefined && !condition.startsWith('unless='))
    throw new Error(`provider-side tool ${type} has the unknown condition "${condition}"`)
  return {
    type: type.replace(/\*$/, ''),
    isPrefix: type.endsWith('*'),
    kinds: kinds === 'caller' ? [] : readKinds(kinds),
    isOfCaller: kinds === 'caller',
    unless: condition?.slice('unless='.length) ?? null,
  }
}

function readOperation(
  { connector }: ProviderTable,
  [name = '', kinds = '', target]: readonly string[],
): readonly [string, OperationRow] {
  if (target !== undefined && !target.startsWith('of='))
    throw new Error(`provider-side operation ${name} has the unknown target "${target}"`)
  return [`${connector}.${name}`, { kinds: readKinds(kinds), parameter: target?.slice('of='.length) ?? null }]
}

function readField([end = '', kinds = '', target = '', value]: readonly string[]): FieldRow {
  const member = target.startsWith('of=') ? target.slice('of='.length) : null
  const fixed = target.startsWith('is=') ? target.slice('is='.length) : null
  const read = member === null && fixed === null ? target : 'none'
  if (!isTarget(read)) throw new Error(`provider-side field ${end} has the unknown target "${target}"`)
  const isRooted = end.startsWith('^.')
  const keys = (isRooted ? end.slice(2) : end).split('.')
  const place = { end, name: keys.at(-1) ?? '', parents: keys.slice(0, -1), isRooted }
  return {
    ...place,
    kinds: readKinds(kinds),
    target: read,
    member,
    fixed,
    value: value === undefined ? null : readValue(value),
  }
}

const TARGETS: ReadonlySet<string> = new Set(['host', 'name', 'call', 'text', 'unread', 'none'])

function isTarget(text: string): text is FieldRow['target'] {
  return TARGETS.has(text)
}

function readValue(text: string): FieldRow['value'] {
  const by = VALUE_TESTS[text.charAt(0)]
  if (by === undefined) throw new Error(`provider-side field: no value "${text}"`)
  return { by, text: text.slice(1) }
}

const VALUE_TESTS: Readonly<Record<string, NonNullable<FieldRow['value']>['by']>> = {
  '=': 'equals',
  '~': 'contains',
  '!': 'except',
}

function readKinds(text: string): readonly ProviderKind[] {
  if (text === '-') return []
  return text.split(',').map((kind) => {
    if (!isProviderKind(kind)) throw new Error(`no provider-side kind "${kind}"`)
    return kind
  })
}
