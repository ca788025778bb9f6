import { seeded } from '../../support/proof.ts'

export type GraphqlMessage = {
  readonly query: string
  readonly operationName?: string
  readonly variables: Readonly<Record<string, unknown>>
}

/** Fields whose action does not depend on what is below them, and two whose input says which it is. */
const MUTATIONS = [
  'createIssue',
  'mergePullRequest',
  'addComment',
  'deleteRef',
  'closeIssue',
  'pinIssue',
  'inventedField',
] as const
const BY_STATE = ['updatePullRequest', 'updateIssue'] as const
const QUERIES: Readonly<Record<string, string>> = {
  viewer: '{ login }',
  rateLimit: '{ limit remaining }',
  topic: '(name: "x") { name }',
  search: '(query: "x", type: ISSUE, first: 1) { issueCount }',
  node: '(id: "x") { id }',
  __schema: '{ queryType { name } }',
}

type Kind = 'query' | 'mutation'
type Build = {
  readonly chance: () => number
  readonly kind: Kind
  readonly fragments: string[]
  readonly declared: string[]
  readonly variables: Record<string, unknown>
  next: number
}

/** A random document: several operations, of which one is named, aliases, nested fragments, conditions by value and by variable. */
export function randomDocument(seed: number): GraphqlMessage {
  const chance = seeded(seed)
  const variables: Record<string, unknown> = {}
  const fragments: string[] = []
  const operations = Array.from({ length: 1 + pick(chance, 3) }, (_, at) => {
    const kind: Kind = chance() > 0.4 ? 'mutation' : 'query'
    const build: Build = { chance, kind, fragments, declared: [], variables, next: at * 1_000 }
    const body = selections(build, 0)
    const head = build.declared.length === 0 ? '' : `(${build.declared.join(comma(chance))})`
    return `${kind} Op${at}${space(chance)}${head}${space(chance)}${body}`
  })
  const wanted = pick(chance, operations.length)
  const parts = shuffled(chance, [...operations, ...fragments])
  return {
    query: `${space(chance)}${parts.join(space(chance) || '\n')}`,
    ...(operations.length > 1 || chance() > 0.5 ? { operationName: `Op${wanted}` } : {}),
    variables,
  }
}

function selections(build: Build, depth: number): string {
  const count = 1 + pick(build.chance, 3)
  const all = [field(build), ...Array.from({ length: count }, () => selection(build, depth))]
  return `{${space(build.chance)}${all.join(comma(build.chance))}${space(build.chance)}}`
}

function selection(build: Build, depth: number): string {
  const roll = build.chance()
  if (depth > 2 || roll < 0.5) return field(build)
  const type = build.kind === 'mutation' ? 'Mutation' : 'Query'
  if (roll < 0.75) {
    const on = build.chance() > 0.5 ? ` on ${type}` : ''
    return `...${on} ${condition(build)} ${selections(build, depth + 1)}`
  }
  const name = `F${build.kind}${build.next++}x${build.fragments.length}`
  // Declared first, so that fragments inside it get other names.
  const at = build.fragments.push('') - 1
  build.fragments[at] = `fragment ${name} on ${type} ${selections(build, depth + 1)}`
  return `...${space(build.chance)}${name} ${condition(build)}`
}

function field(build: Build): string {
  const alias = `a${build.next++}`
  return `${alias}${space(build.chance)}: ${build.kind === 'mutation' ? mutation(build) : query(build)}`
}

function query(build: Build): string {
  const names = Object.keys(QUERIES)
  const name = names[pick(build.chance, names.length)] ?? 'viewer'
  const [args = '', below = ''] = (QUERIES[name] ?? '').startsWith('(')
    ? splitAt(QUERIES[name] ?? '', ')')
    : ['', QUERIES[name] ?? '']
  return `${name}${args} ${condition(build)} ${below}`
}

function mutation(build: Build): string {
  const isByState = build.chance() < 0.3
  const names: readonly string[] = isByState ? BY_STATE : MUTATIONS
  const name = names[pick(build.chance, names.length)] ?? 'createIssue'
  const input = isByState ? `{ id: "x", state: ${state(build)} }` : '{ id: "x" }'
  return `${name}(input: ${input}) ${condition(build)} { clientMutationId }`
}

/** A state by value, or by a variable that is sent, has a default, or both. */
function state(build: Build): string {
  const value = build.chance() > 0.5 ? 'CLOSED' : 'OPEN'
  if (build.chance() > 0.5) return value
  return declare(build, 'Any', value, value === 'OPEN' ? 'CLOSED' : 'OPEN')
}

function condition(build: Build): string {
  if (build.chance() < 0.6) return ''
  const directive = build.chance() > 0.5 ? 'skip' : 'include'
  const value = build.chance() > 0.5
  const said = build.chance() > 0.5 ? String(value) : declare(build, 'Boolean', value, !value)
  const more = build.chance() > 0.9 ? ` @include(if: ${build.chance() > 0.5})` : ''
  return directive === 'include' ? `@include(if: ${said})` : `@skip(if: ${said})${more}`
}

function declare(build: Build, type: string, value: string | boolean, other: string | boolean): string {
  const name = `v${build.next++}`
  const roll = build.chance()
  if (roll < 0.4) {
    build.declared.push(`$${name}: ${type}!`)
    build.variables[name] = value
  } else if (roll < 0.7) build.declared.push(`$${name}: ${type} = ${value}`)
  else {
    build.declared.push(`$${name}: ${type} = ${other}`)
    build.variables[name] = value
  }
  return `$${name}`
}

function pick(chance: () => number, below: number): number {
  return Math.floor(chance() * below)
}

function space(chance: () => number): string {
  return [' ', '\n', '\t ', ' , ', ' # a remark\n', '  '][pick(chance, 6)] ?? ' '
}

function comma(chance: () => number): string {
  return chance() > 0.5 ? ', ' : '\n'
}

function splitAt(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark) + 1
  return [text.slice(0, at), text.slice(at)]
}

function shuffled<T>(chance: () => number, items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, weight: chance() }))
    .sort((a, b) => a.weight - b.weight)
    .map(({ item }) => item)
}
