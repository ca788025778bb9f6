import type { ObjectKey } from '../store/desired.ts'

/** `namespace/name`. */
export function fullNameOf({ namespace, name }: Pick<ObjectKey, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`
}
