import type { Row } from '../../../core/connectors/connector.ts'
import { BUILT_IN } from '../../../core/connectors/registry.ts'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import fc from '../../support/fast-check.ts'

export type Provider = Extract<
  ConnectorEntry['type'],
  'codehost' | 'llm_a' | 'llm_b' | 'llm_c' | 'payments' | 'chat'
>
const PROVIDERS: readonly Provider[] = ['codehost', 'llm_a', 'llm_b', 'llm_c', 'payments', 'chat']

/** One segment of a path as it is meant; `holds` says what else than plain characters its place may hold. */
export type Piece = {
  readonly text: string
  readonly holds: 'nothing' | 'slash' | 'tail'
  /** Behind the last segment: `:generateContent`, whose colon no client encodes. */
  readonly verb?: string
}
export type Pair = readonly [name: string, value: string | number | boolean]

/** A request as it is meant, before anybody has spelt it. */
export type PlainRequest = {
  readonly provider: Provider
  readonly row: Row
  readonly method: string
  readonly pieces: readonly Piece[]
  readonly query: readonly Pair[]
  /** Null for none. */
  readonly body: readonly Pair[] | null
  readonly format: 'json' | 'form'
}

/** Rows that are reached by their path alone; git has a host of its own, GraphQL a language. */
export const ROWS: Readonly<Record<Provider, readonly Row[]>> = {
  codehost: rowsOf('codehost'),
  llm_a: rowsOf('llm_a'),
  llm_b: rowsOf('llm_b'),
  llm_c: rowsOf('llm_c'),
  payments: rowsOf('payments'),
  chat: rowsOf('chat'),
}

function rowsOf(provider: Provider): readonly Row[] {
  const catalogue = BUILT_IN.find(({ name }) => name === provider)?.catalogue ?? []
  return catalogue.filter(
    (row): row is Row => row.template !== undefined && !row.template.startsWith('/{owner}/{repo}/'),
  )
}

const word = fc.stringMatching(/^[A-Za-z0-9_~-]{1,8}$/)
const strange = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 })
const value = fc.oneof({ weight: 4, arbitrary: word }, { weight: 1, arbitrary: strange })
const scalar = fc.oneof(value, fc.integer({ min: 0, max: 9_999 }), fc.boolean())
/** Texts that the discriminators of rows match, and similar texts. */
const deciding = fc.constantFrom<Pair>(
  ['state', 'closed'],
  ['state', 'open'],
  ['stream', true],
  ['stream', false],
  ['stream', 'true'],
  ['sha', 'abc'],
  ['sha', 1],
)
const provider = fc.constantFrom(...PROVIDERS)

/** Any operation of any provider, with values of every kind in its path, query and body. */
export const plainRequest: fc.Arbitrary<PlainRequest> = provider.chain((type) =>
  fc.constantFrom(...ROWS[type]).chain((row) => requestOf(type, row)),
)

function requestOf(type: Provider, row: Row): fc.Arbitrary<PlainRequest> {
  const names = row.parameters ?? []
  const own = names.length === 0 ? fc.constant<Pair>(['x', 'y']) : fc.tuple(fc.constantFrom(...names), scalar)
  const pairs = fc.uniqueArray(fc.oneof(own, deciding, fc.tuple(word, scalar)), {
    maxLength: 4,
    selector: ([name]) => name,
  })
  const canForm = type === 'payments' || type === 'chat'
  return fc.record({
    provider: fc.constant(type),
    row: fc.constant(row),
    method: row.method === '*' ? fc.constantFrom('GET', 'POST') : fc.constant(row.method),
    pieces: fc.tuple(...segmentsOf(row.template).map(pieceOf)).map((nested) => nested.flat()),
    query: fc.uniqueArray(fc.tuple(fc.oneof(word, fc.constantFrom('page', ...names)), scalar), {
      maxLength: 3,
      selector: ([name]) => name,
    }),
    body: row.method === 'GET' ? fc.constant(null) : fc.option(pairs, { nil: null }),
    format: canForm ? fc.constantFrom('json', 'form') : fc.constant<'json'>('json'),
  })
}

function segmentsOf(template: string): readonly string[] {
  return template === '/' ? [] : template.slice(1).replaceAll('/}', '%}').split('/')
}

function pieceOf(part: string): fc.Arbitrary<Piece[]> {
  const [, resource, verb] = /^(.+)(:[A-Za-z]+)$/.exec(part) ?? []
  if (resource === undefined || verb === undefined) return pieceWithoutVerb(part)
  return pieceWithoutVerb(resource).map((pieces) => pieces.map((piece) => ({ ...piece, verb })))
}

function pieceWithoutVerb(part: string): fc.Arbitrary<Piece[]> {
  const match = /^\{([a-z0-9_]+)([+%]?)\}$/.exec(part)
  if (match === null) return fc.constant([{ text: part, holds: 'nothing' }])
  const [, name = '', mark] = match
  if (/(^|_)number$/.test(name))
    return fc.nat({ max: 99_999 }).map((n) => [{ text: String(n), holds: 'nothing' as const }])
  if (mark === '+')
    return fc
      .array(value, { minLength: 1, maxLength: 3 })
      .map((texts) => texts.map((text) => ({ text, holds: 'tail' as const })))
  if (mark === '%')
    return fc
      .array(value, { minLength: 1, maxLength: 2 })
      .map((texts) => [{ text: texts.join('/'), holds: 'slash' as const }])
  return value.map((text) => [{ text, holds: 'nothing' as const }])
}
