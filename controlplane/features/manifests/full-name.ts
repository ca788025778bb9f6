import type { ObjectKey } from './store.ts'

/** Returns `namespace/name` of an object. */
export function fullNameOf({ namespace, name }: Pick<ObjectKey, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`
}
