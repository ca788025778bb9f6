import type { PatchOperation } from '../../core/inject/json-patch.ts'

/**
 * Applies a JSON patch (RFC 6902) as the Kubernetes API server does: `add` to a list inserts an entry, and a path that does
 * not exist is an error.
 */
export function applyPatch(document: unknown, operations: readonly PatchOperation[]): unknown {
  const holder: { root: unknown } = { root: structuredClone(document) }
  for (const operation of operations) apply(holder, operation)
  return holder.root
}

function apply(holder: { root: unknown }, operation: PatchOperation): void {
  const names = operation.path.split('/').slice(1)
  const keys = names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = keys.pop()
  if (last === undefined) {
    if (operation.op !== 'remove') holder.root = operation.value
    return
  }
  const parent = keys.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], holder.root)
  if (Array.isArray(parent)) applyToList(parent, Number(last), operation)
  else applyToObject(parent as Record<string, unknown>, last, operation)
}

function applyToList(list: unknown[], at: number, operation: PatchOperation): void {
  const isThere = at < list.length || (operation.op === 'add' && at === list.length)
  if (!isThere) throw new Error(`${operation.path} is not there`)
  if (operation.op === 'remove') list.splice(at, 1)
  else list.splice(at, operation.op === 'add' ? 0 : 1, operation.value)
}

function applyToObject(object: Record<string, unknown>, key: string, operation: PatchOperation): void {
  if (operation.op !== 'add' && !Object.hasOwn(object, key)) throw new Error(`${operation.path} is not there`)
  if (operation.op === 'remove') delete object[key]
  else
    Object.defineProperty(object, key, {
      value: operation.value,
      enumerable: true,
      writable: true,
      configurable: true,
    })
}
