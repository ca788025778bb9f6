import { type DeclaredType, readDeclaredTypes } from './declared-types.ts'

/**
 * Returns the full paths of the fields with text in requests, such as `^.tools.*.server_url` (see `FindRules`).
 * `isWanted` selects fields by their name. A request is a type `…Params` that no other type uses; `isRequest` selects
 * some of these types. Several paths with the same type and the same last elements are listed once, because a row of
 * the table has only the end of a path.
 */
export function requestPaths(
  declarations: readonly string[],
  isWanted: (name: string) => boolean,
  isRequest: (type: string) => boolean = () => true,
): readonly string[] {
  const types = declarations.flatMap(readDeclaredTypes)
  const walk: Walk = { index: indexOf(types), isWanted, seen: new Map(), paths: new Set() }
  const used = new Set(types.flatMap(namesIn))
  for (const type of types)
    if (/^\w+Params\w*$/.test(type.name) && !used.has(type.name) && isRequest(type.name))
      walkType(walk, type, ['^'])
  return [...walk.paths].sort()
}

type Walk = {
  readonly index: ReadonlyMap<string, readonly DeclaredType[]>
  readonly isWanted: (name: string) => boolean
  /**
   * Ends of the paths that were visited, by type. The key is not the name of a type, because different types may have
   * the same name.
   */
  readonly seen: Map<DeclaredType, Set<string>>
  readonly paths: Set<string>
}

/**
 * Number of last elements by which the paths of a type are distinguished. A row of the table has at most one
 * more element.
 */
const TAIL = 3
const MAX_DEPTH = 16

/** Matches the name of a type with its namespaces. */
const NAME = /\b[A-Z][\w.]*/g

function walkType(walk: Walk, type: DeclaredType, path: readonly string[]): void {
  const tail = path.slice(-TAIL).join('.')
  const seen = walk.seen.get(type) ?? new Set()
  if (seen.has(tail) || path.length > MAX_DEPTH) return
  walk.seen.set(type, seen.add(tail))
  walkExpression(walk, type, { expression: type.parts, path })
  for (const [name, expression] of type.members) {
    const own = [...path, name]
    if (walk.isWanted(name) && /\bstring\b/.test(expression))
      walk.paths.add([...own, ...(/\bArray<string|string\[\]/.test(expression) ? ['*'] : [])].join('.'))
    walkExpression(walk, type, { expression, path: own })
  }
}

function walkExpression(
  walk: Walk,
  from: DeclaredType,
  { expression, path }: { readonly expression: string; readonly path: readonly string[] },
): void {
  for (const { 0: name, index } of expression.matchAll(NAME)) {
    const own = isElement(expression, index) ? [...path, '*'] : path
    for (const type of resolve(walk, name, from)) walkType(walk, type, own)
  }
}

/** Returns the names of the types that a type mentions, without their namespaces. */
function namesIn({ members, parts }: DeclaredType): readonly string[] {
  const text = [parts, ...members.values()].join(' ')
  return [...text.matchAll(NAME)].map(([name]) => name.split('.').at(-1) ?? name)
}

/** Reports whether the name at this offset of the expression is the type of the elements of a list. */
function isElement(expression: string, at: number): boolean {
  const before = expression.slice(0, at)
  return before.split('Array<').length > before.split('>').length || /^[\w.]+\[\]/.test(expression.slice(at))
}

/**
 * Returns the types that a name may mean. A type in one of the enclosing namespaces takes precedence over types in any
 * other place.
 */
function resolve({ index }: Walk, name: string, { name: from }: DeclaredType): readonly DeclaredType[] {
  const around = from.split('.')
  const parts = name.split('.')
  const names = [
    ...around.map((_, at) => [...around.slice(0, around.length - at), name].join('.')),
    ...parts.map((_, at) => parts.slice(at).join('.')),
  ]
  const found = names.find((one) => index.has(one))
  return found === undefined ? [] : (index.get(found) ?? [])
}

/**
 * Returns the types by name. Each type has an entry for its name with all, with some and with none of its namespaces.
 */
function indexOf(types: readonly DeclaredType[]): ReadonlyMap<string, readonly DeclaredType[]> {
  const named = types.flatMap((type) => {
    const parts = type.name.split('.')
    return parts.map((_, at) => [parts.slice(at).join('.'), type] as const)
  })
  const groups = Map.groupBy(named, ([name]) => name)
  return new Map([...groups].map(([name, all]) => [name, all.map(([, type]) => type)]))
}
