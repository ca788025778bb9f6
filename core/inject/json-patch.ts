/** Operation of a JSON Patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

type Json = { readonly [key: string]: unknown }

/**
 * Returns the operations, in order, that turn one JSON value into another. List elements with a name are matched by
 * name, so that a prepended container takes one operation instead of a rewrite of the list.
 */
export function jsonPatch(before: unknown, after: unknown, path = ''): readonly PatchOperation[] {
  if (isEqual(before, after)) return []
  if (Array.isArray(before) && Array.isArray(after)) return listPatch(before, after, path)
  if (isObject(before) && isObject(after)) return objectPatch(before, after, path)
  return [{ op: 'replace', path, value: after }]
}

function objectPatch(before: Json, after: Json, path: string): readonly PatchOperation[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names.flatMap((name) => {
    const at = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const [old, wanted] = [member(before, name), member(after, name)]
    if (wanted === undefined) return old === undefined ? [] : [{ op: 'remove' as const, path: at }]
    return old === undefined ? [{ op: 'add' as const, path: at, value: wanted }] : jsonPatch(old, wanted, at)
  })
}

function listPatch(
  before: readonly unknown[],
  after: readonly unknown[],
  path: string,
): readonly PatchOperation[] {
  const [old, wanted] = [keysOf(before), keysOf(after)]
  if (old === null || wanted === null) return [{ op: 'replace', path, value: after }]
  const kept = old.filter((key) => wanted.includes(key))
  const isSameOrder = wanted.filter((key) => old.includes(key)).every((key, at) => key === kept[at])
  if (!isSameOrder) return [{ op: 'replace', path, value: after }]
  const removals = old
    .flatMap((key, at) => (wanted.includes(key) ? [] : [{ op: 'remove' as const, path: `${path}/${at}` }]))
    .reverse()
  const byKey = new Map(old.map((key, at) => [key, before[at]]))
  const changes = wanted.flatMap((key, at) =>
    byKey.has(key)
      ? jsonPatch(byKey.get(key), after[at], `${path}/${at}`)
      : [{ op: 'add' as const, path: `${path}/${at}`, value: after[at] }],
  )
  return [...removals, ...changes]
}

/**
 * Returns the keys of list elements: the name of an object, with its mount path if it has one, or the element itself if
 * it is text. Null if an element has no key, or if the keys are not unique.
 */
function keysOf(list: readonly unknown[]): readonly string[] | null {
  const keys = list.map((element) => {
    if (typeof element === 'string') return element
    if (!isObject(element) || typeof element['name'] !== 'string') return null
    const { mountPath } = element
    return typeof mountPath === 'string' ? `${element['name']} ${mountPath}` : element['name']
  })
  const named = keys.filter((key) => key !== null)
  return named.length === list.length && new Set(named).size === list.length ? named : null
}

/** Returns a member of the object. Only own properties count, because the name of a label may be `constructor`. */
function member(object: Json, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Compares JSON values deeply. A member with the value undefined counts as absent. */
function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((element, at) => isEqual(element, b[at]))
  if (!isObject(a) || !isObject(b)) return false
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((name) =>
    isEqual(member(a, name), member(b, name)),
  )
}
