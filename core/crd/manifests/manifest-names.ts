export type ManifestName = { readonly name: string; readonly namespace: string }
export type Names = {
  /**
   * Returns a valid manifest name derived from the name in a database row (`namespace/name` or free text), unique per
   * kind.
   */
  of(kind: string, rowName: string, namespace?: string): ManifestName
}

const MAX_LENGTH = 200

export function createNames(): Names {
  const taken = new Set<string>()
  return {
    of(kind, rowName, given) {
      const [own, bare] = splitName(rowName)
      const namespace = slug(given ?? own) || 'default'
      const name = firstFree(slug(bare) || kind.toLowerCase(), (candidate) =>
        taken.has(`${kind}/${namespace}/${candidate}`),
      )
      taken.add(`${kind}/${namespace}/${name}`)
      return { name, namespace }
    },
  }
}

function splitName(rowName: string): readonly [namespace: string, name: string] {
  const slash = rowName.indexOf('/')
  return slash > 0 ? [rowName.slice(0, slash), rowName.slice(slash + 1)] : ['default', rowName]
}

function firstFree(base: string, isTaken: (name: string) => boolean): string {
  for (let count = 1; ; count++) {
    const name = count === 1 ? base : `${base}-${count}`
    if (!isTaken(name)) return name
  }
}

/**
 * Converts a text to a Kubernetes name: lower-case letters, digits and hyphens, with a letter or digit at both ends.
 */
function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, '-')
    .slice(0, MAX_LENGTH)
    .replace(/^[-.]+|[-.]+$/g, '')
}
