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
import { listConnectors } from '../store/connectors.ts'
import { listDesired } from '../store/desired.ts'
import { listGateways } from '../store/gateways.ts'
import { listAllPermissions } from '../store/permissions.ts'
import { listPolicies, type PolicyRow } from '../store/policies.ts'
import type { Query } from '../store/query.ts'

const HEAD = `# Exported by Chaperone. Credentials are never exported: make a Secret for each secretRef below.\n`

export type ManifestExport = {
  readonly text: string
  readonly counts: Readonly<Record<string, number>>
}

/** The configuration as manifests that a folder or a cluster takes; how many of each kind. */
export async function manifestsOf(
  q: Query,
  platformNamespaces: ReadonlySet<string>,
): Promise<ManifestExport> {
  const rows = await readManifestRows(q)
  const policies = [...rows.policies, ...removedDefaults(rows.policies)]
  const manifests = rowManifests({ ...rows, policies }, placementOf(rows.gateways, platformNamespaces))
  return { text: HEAD + manifestsText(manifests), counts: countsOf(manifests) }
}

export function placementOf(
  gateways: ManifestRows['gateways'],
  platformNamespaces: ReadonlySet<string>,
): Placement {
  return { gateways, platformNamespace: [...platformNamespaces][0] ?? null }
}

/** All rows, with what the manifests of policies bind to. */
export async function readManifestRows(q: Query): Promise<ManifestRows> {
  const written = new Map(
    (await listDesired(q)).map((row) => [`${row.kind}/${row.namespace}/${row.name}`, row.stored.spec]),
  )
  return {
    gateways: await listGateways(q),
    connectors: await listConnectors(q),
    permissions: await listAllPermissions(q),
    policies: (await listPolicies(q)).map((row) => policyFacts(row, written.get(`Policy/${row.name}`))),
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
