import type { FindRules } from '../../request/json/member-finder.ts'
import { isProviderKind, type ProviderKind } from './kinds.ts'

/** What the requests of one model provider can make it reach or do. */
export type ProviderTable = {
  readonly connector: string
  /** Package, version and date of what it was read from. */
  readonly source: string
  /**
   * One a line: type of a tool, or its beginning with `*`, and kinds; `-` where the caller runs it, or it only computes. With
   * `unless=MEMBER` nothing of it happens where that member of the tool is `false`. The first line that fits counts.
   */
  readonly tools: string
  /**
   * One a line: end of a path (see `FindRules`), kinds, how the target is read (`host` of a URL, `name` of a host, `text`, `unread` for the
   * name of something with requests in it, `none`), and
   * optionally the value that counts (`=true`) or with which it has to begin or end (`~user.`).
   */
  readonly fields: string
  /** One a line: name of an operation without its connector, kinds. */
  readonly operations: string
  /** See `FindRules`. */
  readonly opaque: readonly string[]
  /** Places of tools beside `tools.*`. */
  readonly toolPlaces: readonly string[]
  /** Tools are known by the names of their members (`googleSearch`) rather than by `type`. */
  readonly toolsByName?: boolean
  /** Operations with messages in a format that the gateway does not read, in which tools may stand. */
  readonly unreadOperations?: readonly string[]
  /** Uploads of files that may hold the requests of a batch, one JSON object a line, as a multipart form. */
  readonly batchUploads?: readonly string[]
  /** Operations with opaque bodies that take their fields as a multipart form, in which tools or URLs may stand. */
  readonly readForms?: readonly string[]
  /** URLs at the provider itself: nothing is fetched from elsewhere. */
  readonly ownFile?: RegExp
}

export type ToolRow = {
  readonly type: string
  readonly isPrefix: boolean
  readonly kinds: readonly ProviderKind[]
  /** A member that turns the tool's access off with `false`. */
  readonly unless: string | null
}

export type FieldRow = {
  readonly end: string
  readonly kinds: readonly ProviderKind[]
  readonly target: 'host' | 'name' | 'text' | 'unread' | 'none'
  readonly value: { readonly by: 'equals' | 'contains'; readonly text: string } | null
}

export type CompiledTable = {
  readonly table: ProviderTable
  readonly tools: readonly ToolRow[]
  readonly fields: readonly FieldRow[]
  readonly fieldsByName: ReadonlyMap<string, readonly FieldRow[]>
  readonly operations: ReadonlyMap<string, readonly ProviderKind[]>
  readonly find: FindRules
  readonly toolPlaces: ReadonlyArray<readonly string[]>
}

export function compileTable(table: ProviderTable): CompiledTable {
  const fields = linesOf(table.fields).map(readField)
  const toolPlaces = ['tools.*', ...table.toolPlaces]
  const tools = linesOf(table.tools).map(readTool)
  const toolEnds = toolPlaces.flatMap((place) => [
    ...(table.toolsByName === true ? [`${place}.?`, `${place}.type`] : [`${place}.type`]),
    ...tools.flatMap(({ unless }) => (unless === null ? [] : [`${place}.${unless}`])),
  ])
  return {
    table,
    fields,
    tools,
    fieldsByName: Map.groupBy(fields, ({ end }) => end.split('.').at(-1) ?? ''),
    operations: new Map(
      linesOf(table.operations).map(([name = '', kinds = '']) => [
        `${table.connector}.${name}`,
        readKinds(kinds),
      ]),
    ),
    find: { ends: [...new Set([...toolEnds, ...fields.map(({ end }) => end)])], opaque: table.opaque },
    toolPlaces: toolPlaces.map((place) => place.split('.')),
  }
}

/** Lines of words; a line that begins with `#` is a remark. */
function linesOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(/\s+/))
}

function readTool([type = '', kinds = '', condition]: readonly string[]): ToolRow {
  if (condition !== undefined && !condition.startsWith('unless='))
    throw new Error(`provider-side tool ${type}: no condition "${condition}"`)
  return {
    type: type.replace(/\*$/, ''),
    isPrefix: type.endsWith('*'),
    kinds: readKinds(kinds),
    unless: condition?.slice('unless='.length) ?? null,
  }
}

function readField([end = '', kinds = '', target = '', value]: readonly string[]): FieldRow {
  if (!isTarget(target)) throw new Error(`provider-side field ${end}: no target "${target}"`)
  return { end, kinds: readKinds(kinds), target, value: value === undefined ? null : readValue(value) }
}

const TARGETS: ReadonlySet<string> = new Set(['host', 'name', 'text', 'unread', 'none'])

function isTarget(text: string): text is FieldRow['target'] {
  return TARGETS.has(text)
}

function readValue(text: string): FieldRow['value'] {
  return { by: text.startsWith('=') ? 'equals' : 'contains', text: text.slice(1) }
}

function readKinds(text: string): readonly ProviderKind[] {
  if (text === '-') return []
  return text.split(',').map((kind) => {
    if (!isProviderKind(kind)) throw new Error(`no provider-side kind "${kind}"`)
    return kind
  })
}
