import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, stringify, type YAMLSeq } from 'yaml'
import { scopesOfText } from '../kill-scopes.ts'
import { readYamlDocuments, TOO_DEEP } from '../manifests/yaml-documents.ts'
import { FORMER_FIELDS, type FormerField, type Rewriting } from './former-fields.ts'
import {
  applyEdits,
  type Member,
  memberOf,
  rangeOf,
  removeMember,
  renameKey,
  replaceMember,
  replaceNode,
  type TextEdit,
} from './text-edits.ts'

export type MigrationNote = { readonly line: number; readonly text: string }

export type Migrated = {
  /** Text in which every old name is rewritten. All other bytes, comments and order included, are unchanged. */
  readonly text: string
  readonly changes: readonly MigrationNote[]
  /** Old names that need a decision by the user, and documents that are not valid YAML. */
  readonly problems: readonly MigrationNote[]
}

/** Result for one former field: its edits, or the problem that prevents them. */
type Outcome = { readonly change: string; readonly edits: readonly TextEdit[] } | { readonly problem: string }

type Found = Member & { readonly field: FormerField; readonly gateway: string }

/**
 * Rewrites the old names of fields of custom resources in a manifest file. Documents of other kinds stay unchanged. If
 * any document of the file is not valid YAML, the whole file stays unchanged.
 */
export function migrateManifests(source: string): Migrated {
  const lines = new LineCounter()
  const { documents, tooDeepAt } = readYamlDocuments(source, lines)
  const lineOf = (offset: number) => lines.linePos(offset).line
  const unread = [
    ...(tooDeepAt === null ? [] : [{ line: lineOf(tooDeepAt), text: TOO_DEEP }]),
    ...documents.flatMap(({ errors }) =>
      errors.map(({ pos, message }) => ({
        line: lineOf(pos[0]),
        text: `not valid YAML: ${message.split('\n')[0] ?? message}`,
      })),
    ),
  ]
  if (unread.length > 0) return { text: source, changes: [], problems: unread }
  const outcomes = documents.flatMap((document) => formerFields(document, source).flatMap(outcomeOf))
  const note = ({ offset, path, text }: Result) => ({ line: lineOf(offset), text: `${path} ${text}` })
  return {
    text: applyEdits(
      source,
      outcomes.flatMap(({ edits }) => edits ?? []),
    ),
    changes: outcomes.filter(({ edits }) => edits !== null).map(note),
    problems: outcomes.filter(({ edits }) => edits === null).map(note),
  }
}

/**
 * Result for one former field, with its position. If `edits` is null, the field was not rewritten, and `text` has the
 * reason.
 */
type Result = {
  readonly offset: number
  readonly path: string
  readonly text: string
  readonly edits: readonly TextEdit[] | null
}

function outcomeOf(found: Found): readonly Result[] {
  const { pair, field } = found
  const outcome = isAlias(pair.value) ? ALIAS : REWRITINGS[field.rewriting](found)
  if (outcome === null) return []
  const place = { offset: rangeOf(pair.key)[0], path: field.path.join('.') }
  if ('problem' in outcome) return [{ ...place, text: outcome.problem, edits: null }]
  return [{ ...place, text: outcome.change, edits: outcome.edits }]
}

const ALIAS: Outcome = { problem: 'is a YAML alias; replace the alias with its value' }

function formerFields(document: Document.Parsed, source: string): Found[] {
  const { contents } = document
  const read = (...path: string[]): unknown => (isMap(contents) ? document.getIn(path) : undefined)
  if (!String(read('apiVersion')).startsWith('chaperone.dev/')) return []
  const kind = read('kind')
  const gateway = `${String(read('metadata', 'namespace') ?? 'default')}/${String(read('metadata', 'name'))}`
  return FORMER_FIELDS.filter((field) => field.kind === kind).flatMap((field) => {
    const parents = nodesAt(contents, field.path.slice(0, -1))
    const members = parents.flatMap((map) => memberOf(map, field.path.at(-1) ?? '', source) ?? [])
    return members.map((member) => ({ ...member, field, gateway }))
  })
}

function nodesAt(node: unknown, [step, ...rest]: readonly string[]): readonly unknown[] {
  if (step === undefined) return [node]
  if (step === '*') return isSeq(node) ? node.items.flatMap((each) => nodesAt(each, rest)) : []
  return isMap(node) && node.has(step) ? nodesAt(node.get(step, true), rest) : []
}

const REWRITINGS: Readonly<Record<Rewriting, (found: Found) => Outcome | null>> = {
  renamed: (found) => {
    const to = found.field.to ?? ''
    return clash(found) ?? { change: `was renamed to ${to}`, edits: [renameKey(found, to)] }
  },
  removed: (found) => ({ change: 'was removed', edits: [removeMember(found)] }),
  references: (found) => {
    const references = [jsOf(found)].flat().map(referenceOf)
    if (references.length === 0)
      return { change: 'was removed, because it was empty', edits: [removeMember(found)] }
    if (references.includes(null)) return { problem: 'must be the name of a Gateway; use gatewayRefs' }
    const text = `gatewayRefs: [${references.map(inFlow).join(', ')}]`
    return clash(found) ?? { change: `was replaced by ${text}`, edits: [replaceMember(found, text)] }
  },
  enabled: (found) => {
    const isEnabled = jsOf(found)
    if (typeof isEnabled !== 'boolean') return { problem: 'must be true or false; use mode' }
    if (isEnabled)
      return { change: 'was removed, because the value is the default', edits: [removeMember(found)] }
    const mode = memberOf(found.map, 'mode', found.source)
    const edits =
      mode === undefined
        ? [replaceMember(found, 'mode: disabled')]
        : [removeMember(found), replaceMember(mode, 'mode: disabled')]
    return { change: 'was replaced by mode: disabled', edits }
  },
  admitted: (found) => {
    const list = found.pair.value
    if (!isSeq(list)) return null
    const [start, end] = rangeOf(list)
    const names = found.source.slice(start, end)
    const change = 'was replaced by {from, names}'
    if (list.items.length === 0) return { change, edits: [replaceNode(list, found.source, '{}')] }
    if (list.flow !== true) return { change, edits: blockNames(found, start, end) }
    return { change, edits: [replaceNode(list, found.source, `{ from: Selector, names: ${names} }`)] }
  },
  scopes: (found) => {
    const list = found.pair.value
    if (!isSeq(list)) return null
    const read = list.items.map((item) => scopesIn(item, found.gateway))
    if (read.every((each) => each === undefined)) return null
    if (read.includes('all'))
      return {
        change: 'was removed, because a kill switch without scopes covers the whole Gateway',
        edits: [removeMember(found)],
      }
    if (read.includes(null))
      return { problem: 'has an entry that is not a scope of a kill switch; remove the entry' }
    const edits = list.items.flatMap((item, index) => {
      const scopes = read[index]
      if (!Array.isArray(scopes)) return []
      const text = scopes.map(inFlow).join(separator(list, item, found.source))
      return [replaceNode(item, found.source, text)]
    })
    return { change: 'were replaced by objects {kind, name}', edits }
  },
}

/** Returns a problem if the mapping contains the former field and its replacement. */
function clash({ map, source, field }: Found): Outcome | null {
  const { to } = field
  if (to === null || memberOf(map, to, source) === undefined) return null
  return { problem: `and ${to} are both present; keep one of them` }
}

function jsOf({ pair }: Member): unknown {
  return isScalar(pair.value) ? pair.value.value : (pair.value as { toJSON(): unknown } | null)?.toJSON()
}

/** Parses a reference to a Gateway: `NAME`, `NAMESPACE/NAME` or `{name, namespace}`; null for any other value. */
function referenceOf(value: unknown): object | null {
  if (typeof value === 'string') {
    const [name, namespace] = value.split('/').toReversed()
    return namespace === undefined ? { name } : { name, namespace }
  }
  if (typeof value !== 'object' || value === null || !('name' in value)) return null
  const { name, namespace } = value as { readonly name: unknown; readonly namespace?: unknown }
  return namespace === undefined ? { name } : { name, namespace }
}

/**
 * Returns the scopes of a list item in the former text form; undefined for any other item, which has the current form.
 */
function scopesIn(item: unknown, gateway: string): ReturnType<typeof scopesOfText> | undefined {
  return isScalar(item) && typeof item.value === 'string' ? scopesOfText(item.value, gateway) : undefined
}

/** Returns the separator between two items of the list: a comma, or a line break with the indentation of `item`. */
function separator(list: YAMLSeq, item: unknown, source: string): string {
  if (list.flow === true) return ', '
  const [start] = rangeOf(item)
  const lineStart = source.lastIndexOf('\n', start - 1) + 1
  return `\n${source.slice(lineStart, start)}`
}

/**
 * Moves a block list into a block mapping `{from: Selector, names}`. A list with the same indentation as its key is
 * indented further, because the list must be deeper than `names`.
 */
function blockNames({ pair, source }: Member, start: number, end: number): readonly TextEdit[] {
  const lineStart = source.lastIndexOf('\n', start - 1) + 1
  const [keyStart] = rangeOf(pair.key)
  const keyColumn = keyStart - (source.lastIndexOf('\n', keyStart - 1) + 1)
  const more = start - lineStart > keyColumn ? '' : '  '
  const indent = source.slice(lineStart, start) + more
  const head = { start, end: start, text: `${more}from: Selector\n${indent}names:\n${indent}` }
  if (more === '') return [head]
  const further = [...source.slice(start, end).matchAll(/\n(?=[^\n])/g)].map(({ index }) => start + index + 1)
  const inside = further.filter((at) => at < start + source.slice(start, end).trimEnd().length)
  return [head, ...inside.map((at) => ({ start: at, end: at, text: more }))]
}

function inFlow(value: unknown): string {
  return stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim()
}
