import type { Manifest, Placement } from '../../../core/crd/manifests/manifest-placement.ts'
import type { PolicyFacts } from '../../../core/crd/manifests/policy-manifests.ts'
import { type ManifestRows, manifestsText, rowManifests } from '../../../core/crd/manifests/row-manifests.ts'
import { PolicySpec } from '../../../core/crd/policy/policy-spec.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { listConnectorsIn } from '../connectors/rows.ts'
import { gatewayNamesIn, listGatewaysIn } from '../gateways/rows.ts'
import { listDesiredIn } from '../manifests/store.ts'
import { listPermissionsIn } from '../permissions/rows.ts'
import { listPoliciesIn, type PolicyRow } from '../policies/rows.ts'

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
  const placement = placementOf(gateways.toSorted(byName), platformNamespaces)
  // Default policies have no namespace. Therefore only a user with the right in all namespaces may learn whether a
  // default policy was removed.
  const manifests = rowManifests(rows, { ...placement, isWhole: q.namespaces === 'all' })
  return { text: HEAD + manifestsText(manifests), counts: countsOf(manifests) }
}

const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1)

export function placementOf(
  gateways: Placement['gateways'],
  platformNamespaces: ReadonlySet<string>,
): Placement {
  return { gateways, platformNamespaces: [...platformNamespaces] }
}

/**
 * Reads the rows of the namespaces for the export. A policy of a manifest includes the references to Gateways from its
 * manifest.
 *
 * @param text Selects the text of a policy: the active text, or the newest text, whose tests may fail.
 */
export async function readManifestRows(q: ScopedQuery, text: PolicyText): Promise<StoredRows> {
  const written = new Map(
    (await listDesiredIn(q)).map((row) => [`${row.kind}/${row.namespace}/${row.name}`, row.stored.spec]),
  )
  return {
    gateways: await listGatewaysIn(q),
    connectors: await listConnectorsIn(q),
    permissions: await listPermissionsIn(q, null),
    policies: (await listPoliciesIn(q)).map((row) =>
      policyFacts(row, text, written.get(`Policy/${row.name}`)),
    ),
  }
}

type PolicyText = 'active' | 'newest'
type StoredPolicy = PolicyFacts & Pick<PolicyRow, 'id' | 'tests'>
export type StoredRows = Omit<ManifestRows, 'policies'> & { readonly policies: readonly StoredPolicy[] }

function policyFacts(row: PolicyRow, text: PolicyText, written: unknown): StoredPolicy {
  const isNewest = text === 'newest'
  const isInForce = isNewest || row.activeYaml !== null || row.invalid !== null
  const facts = { ...row, isInForce, text: (isNewest ? null : row.activeYaml) ?? row.policyYaml }
  if (row.source === 'api' || written === undefined) return facts
  const spec = PolicySpec.pick({ gatewayRefs: true, namespaceSelector: true }).safeParse(
    pickReferences(written),
  )
  if (!spec.success) return facts
  const references = Object.fromEntries(Object.entries(spec.data).filter(([, value]) => value !== undefined))
  return { ...facts, references }
}

function pickReferences(written: unknown): unknown {
  const { gatewayRefs, namespaceSelector } = (written ?? {}) as Readonly<Record<string, unknown>>
  return { gatewayRefs, namespaceSelector }
}

function countsOf(manifests: readonly Manifest[]): Readonly<Record<string, number>> {
  const exported = manifests.filter(({ note }) => note?.effect !== 'left_out')
  const groups = Map.groupBy(exported, ({ kind }) => `${kind.toLowerCase()}s`)
  return Object.fromEntries([...groups].map(([kind, list]) => [kind, list.length]))
}
