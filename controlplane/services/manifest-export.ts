import { stringify } from 'yaml'
import { API_VERSION } from '../../core/crd/schemas.ts'
import { parsePolicyYaml } from '../../core/decision/policy-document.ts'
import { type ConnectorRow, listConnectors } from '../store/connectors.ts'
import { type GatewayRow, listGateways } from '../store/gateways.ts'
import { listAllPermissions, type PermissionRow } from '../store/permissions.ts'
import { listPolicies, type PolicyRow } from '../store/policies.ts'
import type { Query } from '../store/query.ts'
import { createNames, type ManifestName, type Names } from './manifest-names.ts'

type Manifest = { readonly kind: string; readonly metadata: ManifestName; readonly spec: unknown }

/** As many as a Permission may hold. */
const MAX_RULES = 256
const HEAD = `# Exported by Chaperone. Credentials are never exported: make a Secret for each secretRef below.\n`

/** The configuration as manifests that a folder or a cluster takes; how many of each kind. */
export async function manifestsOf(
  q: Query,
): Promise<{ readonly text: string; readonly counts: Readonly<Record<string, number>> }> {
  const names = createNames()
  const gateways = await listGateways(q)
  const placed = new Map(gateways.map((row) => [row.id, names.of('Gateway', row.name)]))
  const manifests = [
    ...gateways.map((row) => gatewayManifest(row, placed)),
    ...(await listConnectors(q)).flatMap((row) => connectorManifests(row, placed, names)),
    ...permissionManifests(await listAllPermissions(q), placed, names),
    ...(await listPolicies(q)).flatMap((row) => policyManifests(row, placed, names)),
  ]
  const documents = manifests.map((manifest) => stringify({ apiVersion: API_VERSION, ...manifest }, YAML))
  return { text: HEAD + documents.join('---\n'), counts: countsOf(manifests) }
}

const YAML = { aliasDuplicateObjects: false, lineWidth: 110 } as const
type Placed = ReadonlyMap<string, ManifestName>

function gatewayManifest({ id, spec }: GatewayRow, placed: Placed): Manifest {
  return { kind: 'Gateway', metadata: placed.get(id) ?? { name: 'local', namespace: 'default' }, spec }
}

/** Manifests bind to gateways of their namespace: one for each namespace that the connector serves. */
function connectorManifests(row: ConnectorRow, placed: Placed, names: Names): Manifest[] {
  return byNamespace(row.gatewayIds, placed).map(([namespace, gateways]) => {
    const metadata = names.of('Connector', row.name, namespace)
    const { credential: _reference, gatewayRefs: _bound, ...spec } = row.spec
    const credential =
      row.credential === null ? {} : { credential: { secretRef: { name: metadata.name, key: 'token' } } }
    const bound = row.gatewayIds.length === 0 ? {} : { gatewayRefs: gateways.map((name) => ({ name })) }
    return { kind: 'Connector', metadata, spec: { ...spec, ...bound, ...credential } }
  })
}

function permissionManifests(rows: readonly PermissionRow[], placed: Placed, names: Names): Manifest[] {
  const groups = Map.groupBy(rows, (row) => JSON.stringify([row.gatewayId, row.agent]))
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    const gateway = first && placed.get(first.gatewayId)
    if (first === undefined || gateway === undefined) return []
    const owner = first.agent === '*' ? gateway.name : `${gateway.name}-${first.agent}`
    return chunks(group, MAX_RULES).map((part) => ({
      kind: 'Permission',
      metadata: names.of('Permission', owner, gateway.namespace),
      spec: { gatewayRefs: [{ name: gateway.name }], agents: [first.agent], rules: part.map(ruleOf) },
    }))
  })
}

function ruleOf({ connectorType, actionPattern, decision, reason }: PermissionRow) {
  return { connectorType, actionPattern, decision, ...(reason === null ? {} : { reason }) }
}

/** What is in force: a text whose tests fail would be refused as a manifest. */
function policyManifests(row: PolicyRow, placed: Placed, names: Names): Manifest[] {
  const { enabled, priority, tags, mode, gatewayIds, activeYaml } = row
  if (activeYaml === null) return []
  const { document } = parsePolicyYaml(activeYaml)
  return byNamespace(gatewayIds, placed).map(([namespace, gateways]) => ({
    kind: 'Policy',
    metadata: names.of('Policy', row.name, namespace),
    spec: {
      ...document,
      ...(document.description === undefined && row.description ? { description: row.description } : {}),
      enabled,
      priority,
      tags,
      mode,
      ...(gatewayIds.length === 0 ? {} : { gatewayRefs: gateways.map((name) => ({ name })) }),
    },
  }))
}

/** Namespaces with the names of the gateways in them; no ids = every gateway there is. */
function byNamespace(gatewayIds: readonly string[], placed: Placed): Array<[string, string[]]> {
  const wanted =
    gatewayIds.length === 0 ? [...placed.values()] : gatewayIds.flatMap((id) => placed.get(id) ?? [])
  const found = Map.groupBy(wanted, ({ namespace }) => namespace)
  const spaces = [...found].map(([namespace, list]): [string, string[]] => [
    namespace,
    list.map(({ name }) => name),
  ])
  return spaces.length === 0 ? [['default', []]] : spaces
}

function chunks<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  )
}

function countsOf(manifests: readonly Manifest[]): Readonly<Record<string, number>> {
  const groups = Map.groupBy(manifests, ({ kind }) => `${kind.toLowerCase()}s`)
  return Object.fromEntries([...groups].map(([kind, list]) => [kind, list.length]))
}
