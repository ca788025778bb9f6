import type { ManifestResource } from '../schemas.ts'

/** Returns the key under which `secretValues` contains a value of a Secret: `namespace/name/key`. */
export function secretPlace(
  namespace: string | undefined,
  ref: { readonly name: string; readonly key: string },
) {
  return `${namespace ?? 'default'}/${ref.name}/${ref.key}`
}

/** Returns all values of the Secrets among `resources`, keyed by `secretPlace`. */
export function secretValues(resources: readonly ManifestResource[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const resource of resources) {
    if (resource.kind !== 'Secret') continue
    const { name, namespace } = resource.metadata
    for (const [key, value] of Object.entries(resource.stringData))
      values.set(secretPlace(namespace, { name, key }), value)
  }
  return values
}
