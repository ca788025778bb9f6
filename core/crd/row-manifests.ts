import { stringify } from 'yaml'
import { DEFAULT_POLICIES } from '../decision/default-policies.ts'
import { parsePolicyYaml } from '../decision/policy-document.ts'
import type { RuleDecision } from '../decision/vocabulary.ts'
import { createNames, type ManifestName, type Names } from './manifest-names.ts'
import { API_VERSION, ConnectorSpec, GatewaySpec, type PolicySpec, type ResourceKind } from './schemas.ts'
import { withoutDefaults } from './without-defaults.ts'

/** Rows of the configuration, whatever made them. `namespace/name` of manifests is in `name`. */
export type ManifestRows = {
  readonly gateways: readonly GatewayFacts[]
  readonly connectors: readonly ConnectorFacts[]
  readonly permissions: readonly PermissionFacts[]
  readonly policies: readonly PolicyFacts[]
}
export type GatewayFacts = { readonly id: string; readonly name: string; readonly spec: GatewaySpec }
export type ConnectorFacts = {
  readonly name: string
  readonly source: string
  readonly gatewayIds: readonly string[]
  readonly spec: ConnectorSpec
  /** Null = none stored. Never shown. */
  readonly credential: unknown
}
export type PermissionFacts = {
  readonly gatewayId: string
  readonly agent: string
  readonly connectorType: string
  readonly actionPattern: string
  readonly decision: RuleDecision
  readonly reason: string | null
  /** `Permission/namespace/name` of the manifest that it is of; null = of none. */
  readonly owner: string | null
}
export type PolicyFacts = {
  readonly name: string
  readonly source: string
  readonly origin: string | null
  readonly description: string
  readonly enabled: boolean
  readonly priority: number
  readonly tags: readonly string[]
  readonly mode: 'enforce' | 'monitor'
  /** Empty = all. */
  readonly gatewayIds: readonly string[]
  /** The text that is to be in force. Null = none. */
  readonly text: string | null
  /** What its manifest binds to, as written; absent for a row of no manifest. */
  readonly references?: Pick<PolicySpec, 'gatewayRefs' | 'namespaceSelector'>
}

/** Where objects of no manifest go. */
export type Placement = {
  readonly gateways: ReadonlyArray<Pick<GatewayFacts, 'id' | 'name'>>
  /** For policies of all Gateways: a namespace of the platform team. Null = a manifests folder, where any reaches all. */
  readonly platformNamespace: string | null
}

export type Manifest = {
  readonly kind: ResourceKind
  readonly metadata: ManifestName
  readonly spec: unknown
}

type Context = Placement & { readonly names: Names; readonly placed: ReadonlyMap<string, ManifestName> }

/** As many as a Permission may hold. */
const MAX_RULES = 256
const YAML = { aliasDuplicateObjects: false, lineWidth: 110 } as const

/** The manifests that say the same as the rows. Never a credential: Connectors name a Secret in its place. */
export function rowManifests(
  rows: ManifestRows,
  { gateways, platformNamespace }: Placement,
): readonly Manifest[] {
  const names = createNames()
  const placed = new Map(gateways.map(({ id, name }) => [id, names.of('Gateway', name)]))
  const context = { gateways, platformNamespace, names, placed }
  return [
    ...rows.gateways.map((row) => gatewayManifest(row, context)),
    ...managedFirst(rows.connectors).flatMap((row) => connectorManifests(row, context)),
    ...permissionManifests(rows.permissions, context),
    ...managedFirst(rows.policies).flatMap((row) => policyManifests(row, context)),
  ]
}

/** Manifests that are there keep their names; those of rows get others. */
function managedFirst<T extends { readonly source: string }>(rows: readonly T[]): readonly T[] {
  return rows.toSorted((a, b) => Number(a.source === 'api') - Number(b.source === 'api'))
}

/** YAML documents. */
export function manifestsText(manifests: readonly Manifest[]): string {
  return manifests.map((manifest) => stringify({ apiVersion: API_VERSION, ...manifest }, YAML)).join('---\n')
}

/** What stands for a default policy that was removed: an empty installation would have it. */
export function removedDefaults(policies: readonly PolicyFacts[]): readonly PolicyFacts[] {
  const known = new Set(policies.map(({ name }) => bareName(name)))
  return DEFAULT_POLICIES.filter(({ name }) => !known.has(name)).map(
    ({ name, description, priority, tags, policyYaml }) => ({
      ...{ name, description, priority, tags, source: 'api', origin: null, gatewayIds: [], mode: 'enforce' },
      ...{ enabled: false, text: policyYaml },
    }),
  )
}

/** `name` of `namespace/name`. */
export function bareName(name: string): string {
  return name.slice(name.indexOf('/') + 1)
}

function gatewayManifest({ id, name, spec }: GatewayFacts, { names, placed }: Context): Manifest {
  const metadata = placed.get(id) ?? names.of('Gateway', name)
  return { kind: 'Gateway', metadata, spec: withoutDefaults(spec, GatewaySpec.parse({})) }
}

/** One for each namespace that it serves: references without a namespace are to Gateways of the object's own. */
function connectorManifests(row: ConnectorFacts, context: Context): Manifest[] {
  const { type } = row.spec
  const plain = (spec: object) => ({
    type,
    ...(withoutDefaults(spec, ConnectorSpec.parse({ type })) as object),
  })
  if (row.source !== 'api')
    return [{ kind: 'Connector', metadata: context.names.of('Connector', row.name), spec: plain(row.spec) }]
  const { credential: _reference, gatewayRefs: _bound, ...spec } = row.spec
  return byNamespace(row.gatewayIds, context).map(([namespace, gateways]) => {
    const metadata = context.names.of('Connector', bareName(row.name), namespace)
    const secretRef = { name: metadata.name, key: 'token' }
    const credential = row.credential === null ? {} : { credential: { secretRef } }
    const bound = row.gatewayIds.length === 0 ? {} : { gatewayRefs: gateways.map((name) => ({ name })) }
    return { kind: 'Connector', metadata, spec: { ...plain(spec), ...bound, ...credential } }
  })
}

function permissionManifests(rows: readonly PermissionFacts[], context: Context): Manifest[] {
  const managed = rows.toSorted((a, b) => Number(a.owner === null) - Number(b.owner === null))
  const owned = Map.groupBy(managed, ({ owner }) => owner)
  return [...owned].flatMap(([owner, group]) =>
    owner === null ? rowPermissions(group, context) : ownedPermissions(owner, group, context),
  )
}

function rowPermissions(rows: readonly PermissionFacts[], { names, placed }: Context): Manifest[] {
  const groups = Map.groupBy(rows, (row) => JSON.stringify([row.gatewayId, row.agent]))
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    const gateway = first && placed.get(first.gatewayId)
    if (first === undefined || gateway === undefined) return []
    const name = first.agent === '*' ? gateway.name : `${gateway.name}-${bareName(first.agent)}`
    return chunks(group, MAX_RULES).map((part) => ({
      kind: 'Permission' as const,
      metadata: names.of('Permission', name, gateway.namespace),
      spec: { gatewayRefs: [{ name: gateway.name }], agents: [first.agent], rules: part.map(ruleOf) },
    }))
  })
}

/** Agents and Gateways with the same rules share a manifest, as they did in the one that the rows are of. */
function ownedPermissions(
  owner: string,
  rows: readonly PermissionFacts[],
  { names, placed }: Context,
): Manifest[] {
  const own = owner.slice(owner.indexOf('/') + 1)
  const namespace = own.slice(0, own.indexOf('/'))
  const pairs = [...Map.groupBy(rows, (row) => JSON.stringify([row.gatewayId, row.agent])).values()]
  const shared = Map.groupBy(pairs, (group) => JSON.stringify([group[0]?.gatewayId, group.map(ruleOf)]))
  const parts = [...shared.values()].map((groups) => ({
    gatewayId: groups[0]?.[0]?.gatewayId ?? '',
    agents: groups.flatMap(([first]) => first?.agent ?? []),
    rules: groups[0]?.map(ruleOf) ?? [],
  }))
  const merged = Map.groupBy(parts, ({ agents, rules }) => JSON.stringify([agents, rules]))
  return [...merged.values()].flatMap((group) => {
    const [first] = group
    const gatewayRefs = group.flatMap(({ gatewayId }) => referenceTo(placed.get(gatewayId), namespace))
    if (first === undefined || gatewayRefs.length === 0) return []
    const { agents, rules } = first
    return [
      {
        kind: 'Permission' as const,
        metadata: names.of('Permission', own),
        spec: { gatewayRefs, agents, rules },
      },
    ]
  })
}

function referenceTo(gateway: ManifestName | undefined, namespace: string) {
  if (gateway === undefined) return []
  return [gateway.namespace === namespace ? { name: gateway.name } : { ...gateway }]
}

function ruleOf({ connectorType, actionPattern, decision, reason }: PermissionFacts) {
  return { connectorType, actionPattern, decision, ...(reason === null ? {} : { reason }) }
}

/** An untouched default policy has none: every installation begins with it. */
function policyManifests(row: PolicyFacts, context: Context): Manifest[] {
  const { text, origin, enabled, priority, tags, mode } = row
  if (text === null || origin === 'built_in') return []
  const { document } = parsePolicyYaml(text)
  const described = document.description === undefined && row.description !== ''
  const spec = {
    ...document,
    ...(described ? { description: row.description } : {}),
    ...{ enabled, priority, tags, mode },
  }
  return placesOf(row, context).map(({ name, namespace, references }) => ({
    kind: 'Policy' as const,
    metadata: context.names.of('Policy', name, namespace),
    spec: { ...spec, ...references },
  }))
}

type Place = { readonly name: string; readonly namespace?: string; readonly references: object }

function placesOf(row: PolicyFacts, context: Context): Place[] {
  const name = bareName(row.name)
  if (row.source !== 'api')
    return [{ name: row.name, references: row.references ?? ownReferences(row, context) }]
  if (row.gatewayIds.length === 0)
    return [{ name, namespace: context.platformNamespace ?? 'default', references: {} }]
  return byNamespace(row.gatewayIds, context).map(([namespace, gateways]) => ({
    ...{ name, namespace },
    references: { gatewayRefs: gateways.map((gateway) => ({ name: gateway })) },
  }))
}

function ownReferences({ name, gatewayIds }: PolicyFacts, { placed }: Context): object {
  const namespace = name.slice(0, Math.max(name.indexOf('/'), 0))
  const gatewayRefs = gatewayIds.flatMap((id) => referenceTo(placed.get(id), namespace))
  return gatewayRefs.length === 0 ? {} : { gatewayRefs }
}

/** Namespaces with the names of the gateways in them; no ids = every gateway there is. */
function byNamespace(gatewayIds: readonly string[], { placed }: Context): Array<[string, string[]]> {
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
