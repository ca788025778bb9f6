import {
  type Manifest,
  type ManifestRows,
  manifestsText,
  type Placement,
  type PolicyFacts,
  removedDefaults,
  rowManifests,
} from '../../core/crd/row-manifests.ts'
import { PolicySpec } from '../../core/crd/schemas.ts'
import { listConnectorsIn } from '../store/connectors.ts'
import { listDesiredIn } from '../store/desired.ts'
import { listGatewaysIn } from '../store/gateways.ts'
import { listPermissionsIn } from '../store/permissions.ts'
import { listPoliciesIn, type PolicyRow } from '../store/policies.ts'
import type { ScopedQuery } from '../store/scoped-query.ts'

const HEAD = `# Exported by Chaperone. Credentials are never exported: make a Secret for each secretRef below.\n`

export type ManifestExport = {
  readonly text: string
  readonly counts: Readonly<Record<string, number>>
}

/** The configuration as manifests that a folder or a cluster takes; how many of each kind. */
export async function manifestsOf(
  q: ScopedQuery,
  platformNamespaces: ReadonlySet<string>,
): Promise<ManifestExport> {
  const rows = await readManifestRows(q)
  // Default policies are in no namespace: whether one was removed is seen by users with the right everywhere.
  const removed = q.namespaces === 'all' ? removedDefaults(rows.policies) : []
  const policies = [...rows.policies, ...removed]
  const manifests = rowManifests({ ...rows, policies }, placementOf(rows.gateways, platformNamespaces))
  return { text: HEAD + manifestsText(manifests), counts: countsOf(manifests) }
}

export function placementOf(
  gateways: ManifestRows['gateways'],
  platformNamespaces: ReadonlySet<string>,
): Placement {
  return { gateways, platformNamespace: [...platformNamespaces][0] ?? null }
}

/** Rows of the namespaces, with what the manifests of policies bind to. */
export async function readManifestRows(q: ScopedQuery): Promise<ManifestRows> {
  const written = new Map(
    (await listDesiredIn(q)).map((row) => [`${row.kind}/${row.namespace}/${row.name}`, row.stored.spec]),
  )
  return {
    gateways: await listGatewaysIn(q),
    connectors: await listConnectorsIn(q),
    permissions: await listPermissionsIn(q, null),
    policies: (await listPoliciesIn(q)).map((row) => policyFacts(row, written.get(`Policy/${row.name}`))),
  }
}

/** What is in force: a text whose tests fail would be refused as a manifest. */
function policyFacts(row: PolicyRow, written: unknown): PolicyFacts {
  const facts = { ...row, text: row.activeYaml }
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
  const groups = Map.groupBy(manifests, ({ kind }) => `${kind.toLowerCase()}s`)
  return Object.fromEntries([...groups].map(([kind, list]) => [kind, list.length]))
}
