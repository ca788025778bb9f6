import type { ObjectKey } from './store.ts'

/** `namespace/name`. */
export function fullNameOf({ namespace, name }: Pick<ObjectKey, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`
}
