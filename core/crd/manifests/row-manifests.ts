import { stringify } from 'yaml'
import type { RuleDecision } from '../../decision/vocabulary.ts'
import { ConnectorSpec } from '../connector-spec.ts'
import { differingMembers } from '../differing-members.ts'
import { GatewaySpec } from '../gateway/gateway-spec.ts'
import { API_VERSION } from '../schemas.ts'
import { type ExportNote, noteLine } from './export-note.ts'
import { createNames, type ManifestName } from './manifest-names.ts'
import {
  bareName,
  byNamespace,
  isCluster,
  type Manifest,
  type Placement,
  type PlacementContext,
  referenceTo,
} from './manifest-placement.ts'
import { type PolicyFacts, policyManifests, removedDefaults } from './policy-manifests.ts'

/**
 * Database rows of the configuration that the API or manifests created. `name` is `namespace/name` for rows that
 * manifests created.
 */
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
  /** Stored credential, which the export never contains; null if there is none. */
  readonly credential: unknown
}
export type PermissionFacts = {
  readonly gatewayId: string
  readonly agent: string
  readonly connectorType: string
  readonly actionPattern: string
  readonly decision: RuleDecision
  readonly reason: string | null
  /**
   * Manifest that declares the permission, as `Permission/namespace/name`; null for a permission that the API created.
   */
  readonly owner: string | null
}
/** Maximum number of rules in one Permission. */
const MAX_RULES = 256
const YAML = { aliasDuplicateObjects: false, lineWidth: 110 } as const

/**
 * Returns manifests that are equivalent to the rows. Connectors refer to a Secret instead of containing a credential.
 * `isWhole` states that the rows are those of a whole installation. A missing default policy then counts as removed by
 * a user.
 */
export function rowManifests(
  rows: ManifestRows,
  { isWhole, ...placement }: Placement & { readonly isWhole: boolean },
): readonly Manifest[] {
  const names = createNames()
  const placed = new Map(placement.gateways.map(({ id, name }) => [id, names.of('Gateway', name)]))
  const context = { ...placement, names, placed }
  const before = [
    ...rows.gateways.map((row) => gatewayManifest(row, context)),
    ...managedFirst(rows.connectors).flatMap((row) => connectorManifests(row, context)),
    ...permissionManifests(rows.permissions, context),
  ]
  const policies = policyManifests(managedFirst(rows.policies), context)
  const removed = isWhole ? removedDefaults(rows.policies, policies, context) : []
  return [...before, ...policies, ...removed]
}

/**
 * Sorts database rows that manifests created before those that the API created, so that existing manifests keep their
 * names.
 */
function managedFirst<T extends { readonly source: string }>(rows: readonly T[]): readonly T[] {
  return rows.toSorted((a, b) => Number(a.source === 'api') - Number(b.source === 'api'))
}

/**
 * Formats manifests as YAML documents, with notes as comments. Manifests with the note `left_out` are at the end, as
 * comments.
 */
export function manifestsText(manifests: readonly Manifest[]): string {
  const isLeftOut = ({ note }: Manifest) => note?.effect === 'left_out'
  const documents = manifests.filter((manifest) => !isLeftOut(manifest)).map(documentText)
  return documents.join('---\n') + manifests.filter(isLeftOut).map(documentText).join('')
}

function documentText({ note, ...manifest }: Manifest): string {
  const yaml = stringify({ apiVersion: API_VERSION, ...manifest }, YAML)
  if (note === undefined) return yaml
  const line = noteLine({ ...note, text: `${nameOfManifest(manifest)}: ${note.text}` })
  return line + (note.effect === 'left_out' ? yaml.replace(/^(?=.)/gm, '#   ') : yaml)
}

/** Returns `Kind namespace/name`. */
export function nameOfManifest({ kind, metadata: { namespace, name } }: Manifest): string {
  return `${kind} ${namespace}/${name}`
}

function gatewayManifest({ id, name, spec }: GatewayFacts, { names, placed }: PlacementContext): Manifest {
  const metadata = placed.get(id) ?? names.of('Gateway', name)
  return { kind: 'Gateway', metadata, spec: differingMembers(spec, GatewaySpec.parse({})) }
}

/**
 * Returns the manifest of a Connector that a manifest created. For a Connector that the API created, returns one
 * manifest for each namespace with Gateways that use the Connector, because a reference without a namespace means a
 * Gateway in the object's own namespace.
 */
function connectorManifests(row: ConnectorFacts, context: PlacementContext): Manifest[] {
  const { type } = row.spec
  const plain = (spec: object) => ({
    type,
    ...(differingMembers(spec, ConnectorSpec.parse({ type })) as object),
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

function permissionManifests(rows: readonly PermissionFacts[], context: PlacementContext): Manifest[] {
  const managed = rows.toSorted((a, b) => Number(a.owner === null) - Number(b.owner === null))
  const owned = Map.groupBy(managed, ({ owner }) => owner)
  return [...owned].flatMap(([owner, group]) =>
    owner === null ? rowPermissions(group, context) : ownedPermissions(owner, group, context),
  )
}

function rowPermissions(rows: readonly PermissionFacts[], context: PlacementContext): Manifest[] {
  const { names, placed } = context
  const groups = Map.groupBy(rows, (row) => JSON.stringify([row.gatewayId, row.agent]))
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    const gateway = first && placed.get(first.gatewayId)
    if (first === undefined || gateway === undefined) return []
    const name = first.agent === '*' ? gateway.name : `${gateway.name}-${bareName(first.agent)}`
    const note = agentNote(first.agent, gateway, context)
    return chunks(group, MAX_RULES).map((part) => ({
      kind: 'Permission' as const,
      metadata: names.of('Permission', name, gateway.namespace),
      spec: { gatewayRefs: [{ name: gateway.name }], agents: [first.agent], rules: part.map(ruleOf) },
      ...(note === null ? {} : { note }),
    }))
  })
}

/**
 * Returns a note if the manifest would not apply to the agent of the permission: on a cluster, an agent name without a
 * namespace means an agent in the manifest's namespace.
 */
function agentNote(agent: string, { namespace }: ManifestName, context: PlacementContext): ExportNote | null {
  if (!isCluster(context) || agent === '*' || agent.includes('/')) return null
  const text = `The permission is for agent ${agent}, which has no namespace. In a cluster, the manifest would apply to ${namespace}/${agent}. Create an agent with that name and apply the manifest, or keep the permission in the dashboard.`
  return { effect: 'left_out', text }
}

/**
 * Returns the manifests for all rows that one Permission manifest created. Agents and Gateways with the same rules
 * share a manifest, so that the export has as few manifests as possible.
 */
function ownedPermissions(
  owner: string,
  rows: readonly PermissionFacts[],
  { names, placed }: PlacementContext,
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

function ruleOf({ connectorType, actionPattern, decision, reason }: PermissionFacts) {
  return { connectorType, actionPattern, decision, ...(reason === null ? {} : { reason }) }
}

function chunks<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  )
}
