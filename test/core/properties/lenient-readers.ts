import type { Row } from '../../../core/connectors/connector.ts'
import { type Provider, ROWS } from './plain-request.ts'

/** How a server that is less strict than us may take a path apart. All of them exist. */
export type PathHabits = {
  readonly decodes: 1 | 2
  /** `%2F` is a slash to it. */
  readonly splitsLate: boolean
  readonly mergesSlashes: boolean
  readonly resolvesDots: boolean
  readonly cutsParameters: boolean
  readonly ignoresCase: boolean
  readonly turnsBackslashes: boolean
  /** Ends the path at a NUL, drops white space around segments. */
  readonly trims: boolean
}

const STRICT: PathHabits = {
  decodes: 1,
  splitsLate: false,
  mergesSlashes: false,
  resolvesDots: false,
  cutsParameters: false,
  ignoresCase: false,
  turnsBackslashes: false,
  trims: false,
}

export const READERS: readonly PathHabits[] = [
  STRICT,
  { ...STRICT, decodes: 2 },
  { ...STRICT, splitsLate: true },
  { ...STRICT, splitsLate: true, resolvesDots: true, mergesSlashes: true },
  { ...STRICT, decodes: 2, splitsLate: true, resolvesDots: true, mergesSlashes: true },
  { ...STRICT, mergesSlashes: true },
  { ...STRICT, resolvesDots: true },
  { ...STRICT, cutsParameters: true },
  { ...STRICT, cutsParameters: true, resolvesDots: true, mergesSlashes: true },
  { ...STRICT, ignoresCase: true },
  { ...STRICT, ignoresCase: true, mergesSlashes: true, decodes: 2 },
  { ...STRICT, turnsBackslashes: true, resolvesDots: true },
  { ...STRICT, trims: true, mergesSlashes: true },
  {
    decodes: 2,
    splitsLate: true,
    mergesSlashes: true,
    resolvesDots: true,
    cutsParameters: true,
    ignoresCase: true,
    turnsBackslashes: true,
    trims: true,
  },
]

/** The segments that such a server sees. What it cannot decode it leaves as it is. */
export function readPath(rawPath: string, habits: PathHabits): readonly string[] {
  const decode = (text: string) => (habits.decodes === 2 ? decodeOnce(decodeOnce(text)) : decodeOnce(text))
  let path = habits.cutsParameters ? rawPath.replaceAll(/;[^/]*/g, '') : rawPath
  if (habits.splitsLate) path = decode(path)
  if (habits.turnsBackslashes) path = path.replaceAll(/\\|%5c/gi, '/')
  let segments = path.split('/').slice(1)
  if (!habits.splitsLate) segments = segments.map(decode)
  if (habits.trims) segments = segments.map((segment) => (segment.split('\0')[0] ?? '').trim())
  if (habits.resolvesDots) segments = withoutDots(segments)
  if (habits.mergesSlashes) segments = segments.filter((segment) => segment !== '')
  return segments.length === 1 && segments[0] === '' ? [] : segments
}

function decodeOnce(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    const bytes = Buffer.from(escapes.replaceAll('%', ''), 'hex')
    return bytes.toString('utf8')
  })
}

function withoutDots(segments: readonly string[]): string[] {
  const kept: string[] = []
  for (const segment of segments) {
    if (segment === '..') kept.pop()
    else if (segment !== '.') kept.push(segment)
  }
  return kept
}

type Part = { readonly text: string; readonly kind: 'literal' | 'number' | 'value' | 'tail' }
type Indexed = { readonly row: Row; readonly parts: readonly Part[] }

const VERB = /:([A-Za-z]+)$/
const VERBS = new Set(ROWS.llm_c.flatMap(({ template }) => VERB.exec(template)?.[1] ?? []))

/** Rows by provider and number of segments; those with a tail under -1. Nothing of the program's own look-up is used. */
const INDEX: ReadonlyMap<string, readonly Indexed[]> = indexRows()

function indexRows(): ReadonlyMap<string, readonly Indexed[]> {
  const index = new Map<string, Indexed[]>()
  for (const [provider, rows] of Object.entries(ROWS)) {
    for (const row of rows) {
      const parts = partsOf(row.template)
      const length = parts.at(-1)?.kind === 'tail' ? -1 : parts.length
      const key = `${provider} ${length}`
      index.set(key, [...(index.get(key) ?? []), { row, parts }])
    }
  }
  return index
}

/** A verb that the provider knows, behind the last colon, as a segment of its own. */
function withVerb(segments: readonly string[], ignoresCase: boolean): readonly string[] {
  const last = segments.at(-1) ?? ''
  const colon = last.lastIndexOf(':')
  const fold = (text: string) => (ignoresCase ? text.toLowerCase() : text)
  const isVerb = [...VERBS].some((verb) => fold(verb) === fold(last.slice(colon + 1)))
  return colon === -1 || !isVerb
    ? segments
    : [...segments.slice(0, -1), last.slice(0, colon), last.slice(colon)]
}

function partsOf(template: string): readonly Part[] {
  if (template === '/') return []
  return template
    .slice(1)
    .replaceAll('/}', '%}')
    .replace(VERB, '/:$1')
    .split('/')
    .map((text) => {
      if (!text.startsWith('{')) return { text, kind: 'literal' }
      if (text.endsWith('+}')) return { text, kind: 'tail' }
      return { text, kind: /[{_]number\}$/.test(text) ? 'number' : 'value' }
    })
}

/** The rows that a server with these habits would run: of all that fit, those with the earliest literal text. */
export function rowsFor(
  provider: Provider,
  request: { readonly method: string; readonly segments: readonly string[]; readonly ignoresCase: boolean },
): readonly Row[] {
  const { ignoresCase } = request
  const segments = provider === 'llm_c' ? withVerb(request.segments, ignoresCase) : request.segments
  const candidates = [
    ...(INDEX.get(`${provider} ${segments.length}`) ?? []),
    ...(INDEX.get(`${provider} -1`) ?? []).filter(({ parts }) => parts.length <= segments.length),
  ]
  const fitting = candidates.filter(({ parts }) => fits(parts, segments, ignoresCase))
  const best = fitting
    .map(({ parts }) => rankOf(parts))
    .sort()
    .at(-1)
  return fitting
    .filter(
      ({ row, parts }) => rankOf(parts) === best && (row.method === '*' || row.method === request.method),
    )
    .map(({ row }) => row)
}

function fits(parts: readonly Part[], segments: readonly string[], ignoresCase: boolean): boolean {
  return parts.every(({ text, kind }, at) => {
    const segment = segments[at] ?? ''
    if (kind === 'literal')
      return ignoresCase ? text.toLowerCase() === segment.toLowerCase() : text === segment
    if (kind === 'number') return /^\s*[+-]?\d/.test(segment)
    return segment !== ''
  })
}

/** Literal before value before tail, from the left. */
function rankOf(parts: readonly Part[]): string {
  return parts.map(({ kind }) => (kind === 'literal' ? '3' : kind === 'tail' ? '1' : '2')).join('')
}
