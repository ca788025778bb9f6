import type { Manifest } from '../../../core/crd/manifests/manifest-placement.ts'
import { manifestsText, rowManifests } from '../../../core/crd/manifests/row-manifests.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { gatewayNamesIn } from '../gateways/rows.ts'
import { readManifestRows } from '../manifests/rows.ts'

const HEAD = `# Exported by Chaperone. Credentials are never exported: make a Secret for each secretRef below.\n`

export type ManifestExport = {
  readonly text: string
  readonly counts: Readonly<Record<string, number>>
}

/**
 * Returns the configuration as YAML manifests, for a manifest folder or a cluster, and the number of manifests of each
 * kind.
 */
export async function manifestsOf(
  q: ScopedQuery,
  platformNamespaces: ReadonlySet<string>,
): Promise<ManifestExport> {
  const rows = await readManifestRows(q, 'active')
  // A Permission may reference Gateways of other namespaces, whose manifests this export does not contain.
  const gateways = [...(await gatewayNamesIn(q))].map(([id, name]) => ({ id, name }))
  const placement = { gateways: gateways.toSorted(byName), platformNamespaces: [...platformNamespaces] }
  // Default policies have no namespace. Therefore only a user with the right in all namespaces may learn whether a
  // default policy was removed.
  const manifests = rowManifests(rows, { ...placement, isWhole: q.namespaces === 'all' })
  return { text: HEAD + manifestsText(manifests), counts: countsOf(manifests) }
}

const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1)

function countsOf(manifests: readonly Manifest[]): Readonly<Record<string, number>> {
  const exported = manifests.filter(({ note }) => note?.effect !== 'left_out')
  const groups = Map.groupBy(exported, ({ kind }) => `${kind.toLowerCase()}s`)
  return Object.fromEntries([...groups].map(([kind, list]) => [kind, list.length]))
}
