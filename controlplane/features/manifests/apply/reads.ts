import type { GatewayRef } from '../../../../core/crd/fields.ts'
import type { Labels } from '../../../../core/crd/gateway/allowed-namespaces.ts'
import { labelsOf } from '../../../db/namespaces.ts'
import type { Query } from '../../../db/query.ts'
import {
  type ConnectorRow,
  listConnectorsAt,
  listConnectorsByName,
  listDeclaredActions,
} from '../../connectors/rows.ts'
import { type BindableGateway, listBindableGateways } from '../../gateways/rows.ts'
import { listManagedPolicies, type PolicyRow } from '../../policies/rows.ts'
import { listGroups } from '../../users/rows.ts'
import { storedClaims } from '../hosts/host-claims.ts'
import type { Claim } from '../hosts/host-conflicts.ts'
import type { ObjectCache } from '../object-cache.ts'
import { placesOf, type Referring } from '../references.ts'
import type { ManifestRow, ObjectKey } from '../rows.ts'
import { fullNameOf, listOwnedPermissions, type OwnedPermission, ownerOf } from '../store.ts'

type PermissionKey = Pick<ObjectKey, 'namespace' | 'name'>

/**
 * Caches the rows that are read when manifest objects are applied. Only referenced rows are read, each once per
 * transaction, because a change may apply thousands of objects. Code that writes a cached row must call the matching
 * method (`...Changed`, `...Written` or `...Deleted`).
 */
export type ApplyReads = GatewayReads &
  ConnectorReads & {
    /** Returns the stored rows of a Permission manifest. */
    permissions(key: PermissionKey): Promise<readonly OwnedPermission[]>
    /** Returns the policy of a manifest; `name` is `namespace/name`. */
    policy(name: string): Promise<PolicyRow | undefined>
    labels(namespace: string): Promise<Labels | undefined>
    /** Returns the approver groups that have members. */
    groups(): Promise<ReadonlySet<string>>
    /** Reads the rows that are necessary to apply these objects, with one statement per table. */
    prefetch(rows: readonly Referring[]): Promise<void>
    /** Caches the rows of a Permission manifest that this transaction writes. */
    permissionsWritten(key: PermissionKey, rows: readonly OwnedPermission[]): void
    policyChanged(name: string): void
  }

export function createApplyReads(q: Query, objects: ObjectCache): ApplyReads {
  const { prefetchGateways, gatewayDeleted, ...gatewayReads } = createGatewayReads(q)
  const { prefetchConnectors, ...connectorReads } = createConnectorReads(q, objects)
  const permissions = createCache<readonly OwnedPermission[]>(async (owners) => {
    const byOwner = Map.groupBy(await listOwnedPermissions(q, owners), ({ owner }) => owner ?? '')
    return (owner) => byOwner.get(owner) ?? []
  })
  const policies = createCache<PolicyRow | undefined>(async (names) => {
    const byName = new Map((await listManagedPolicies(q, names)).map((row) => [row.name, row]))
    return (name) => byName.get(name)
  })
  const labels = createCache<Labels | undefined>(async (names) => {
    const known = await labelsOf(q, names)
    return (name) => known.get(name)
  })
  let groups: Promise<ReadonlySet<string>> | undefined
  return {
    ...gatewayReads,
    ...connectorReads,
    permissions: (key) => permissions.get(ownerOf(key)),
    policy: policies.get,
    labels: labels.get,
    groups() {
      groups ??= listGroups(q)
      return groups
    },
    async prefetch(rows) {
      const of = (kind: ObjectKey['kind']) => rows.filter((row) => row.kind === kind)
      await permissions.read(of('Permission').map(ownerOf))
      await policies.read(of('Policy').map(fullNameOf))
      await labels.read(rows.filter(({ kind }) => kind !== 'Gateway').map(({ namespace }) => namespace))
      await prefetchConnectors(of('Connector').map(fullNameOf))
      await prefetchGateways(rows)
    },
    gatewayDeleted(name) {
      gatewayDeleted(name)
      // The database deletes the Permission rows of a deleted Gateway (`on delete cascade`), so cached rows may be
      // outdated.
      permissions.clear()
    },
    permissionsWritten: (key, rows) => permissions.set(ownerOf(key), rows),
    policyChanged: policies.discard,
  }
}

type GatewayReads = {
  /**
   * Returns the Gateways that an object references. Without references, returns the Gateways of the object's namespace.
   */
  gateways(namespace: string, refs: readonly GatewayRef[] | undefined): Promise<readonly BindableGateway[]>
  gatewaysWithIds(ids: readonly string[]): Promise<readonly BindableGateway[]>
  allGateways(): Promise<readonly BindableGateway[]>
  /**
   * Invalidates the cached row of a Gateway. `isBinding`: true if the change affects which objects the
   * Gateway admits.
   */
  gatewayChanged(name: string, change: { readonly isBinding: boolean }): void
  gatewayDeleted(name: string): void
  /** Returns the names of the Gateways whose admission of objects changed in this transaction. */
  rebound(): ReadonlySet<string>
}

function createGatewayReads(q: Query) {
  const byName = createCache<BindableGateway | undefined>(async (names) => {
    const rows = new Map((await listBindableGateways(q, { names })).map((row) => [row.name, row]))
    return (name) => rows.get(name)
  })
  const byNamespace = createCache<readonly BindableGateway[]>(async (namespaces) => {
    const rows = await listBindableGateways(q, { namespaces })
    return (namespace) => rows.filter(({ name }) => name.startsWith(`${namespace}/`))
  })
  const byId = createCache<BindableGateway | undefined>(async (ids) => {
    const rows = new Map((await listBindableGateways(q, { ids })).map((row) => [row.id, row]))
    return (id) => rows.get(id)
  })
  let all: Promise<readonly BindableGateway[]> | undefined
  const rebound = new Set<string>()
  const changed = () => {
    all = undefined
    for (const cache of [byName, byNamespace, byId]) cache.clear()
  }
  const reads: GatewayReads = {
    async gateways(namespace, refs) {
      if (refs === undefined) return byNamespace.get(namespace)
      return presentOf(byName, [...new Set(refs.map((ref) => `${ref.namespace ?? namespace}/${ref.name}`))])
    },
    gatewaysWithIds: (ids) => presentOf(byId, [...new Set(ids)]),
    allGateways() {
      all ??= listBindableGateways(q)
      return all
    },
    gatewayChanged(name, { isBinding }) {
      changed()
      if (isBinding) rebound.add(name)
    },
    gatewayDeleted(name) {
      changed()
      rebound.add(name)
    },
    rebound: () => rebound,
  }
  return {
    ...reads,
    async prefetchGateways(rows: readonly Referring[]) {
      const places = rows.filter(({ kind }) => kind !== 'Gateway').flatMap((row) => placesOf(row) ?? [])
      await byName.read(places.filter((place) => !place.endsWith('/*')))
      await byNamespace.read(
        places.filter((place) => place.endsWith('/*')).map((place) => place.slice(0, -2)),
      )
    },
  }
}

type ConnectorReads = {
  connector(name: string): Promise<ConnectorRow | undefined>
  /** Returns the connectors of these Gateways, in the order in which connectors claim hosts. */
  connectorsAt(gatewayIds: readonly string[]): Promise<readonly ConnectorRow[]>
  /** Returns the names of the actions that connectors in force declare. */
  declaredActions(): Promise<readonly string[]>
  /** Returns the host claims of these Connectors, by name. */
  claims(names: readonly string[]): Promise<ReadonlyMap<string, Claim>>
  connectorWritten(row: ConnectorRow): void
  connectorDeleted(name: string): void
  /** Caches changed host claims of a Connector. Must be called before the Connector is applied. */
  claimsChanged(row: ManifestRow): void
  claimsDeleted(key: ObjectKey): void
}

function createConnectorReads(q: Query, objects: ObjectCache) {
  const byName = createCache<ConnectorRow | undefined>(async (names) => {
    const rows = new Map((await listConnectorsByName(q, names)).map((row) => [row.name, row]))
    return (name) => rows.get(name)
  })
  const byGateway = createCache<Map<string, ConnectorRow>>(async (ids) => {
    const rows = await listConnectorsAt(q, ids)
    return (id) => new Map(rows.filter((row) => serves(row, id)).map((row) => [row.name, row]))
  })
  const changedClaims = new Map<string, Claim>()
  let declared: Promise<readonly string[]> | undefined
  const reads: ConnectorReads = {
    connector: byName.get,
    async connectorsAt(gatewayIds) {
      await byGateway.read(gatewayIds)
      const rows = await Promise.all(gatewayIds.map(byGateway.get))
      return [...new Map(rows.flatMap((each) => [...each])).values()].sort(byPrecedence)
    },
    declaredActions() {
      declared ??= listDeclaredActions(q)
      return declared
    },
    async claims(names) {
      const keys = names.filter((name) => name.includes('/')).map(connectorKey)
      await objects.prefetch(keys)
      const found = new Map<string, Claim>()
      for (const key of keys) {
        const row = await objects.get(key)
        const claim = changedClaims.get(fullNameOf(key)) ?? (row && claimOf(row))
        if (claim !== undefined) found.set(fullNameOf(key), claim)
      }
      return found
    },
    connectorWritten(row) {
      declared = undefined
      byName.set(row.name, row)
      for (const [id, rows] of byGateway.known) {
        if (serves(row, id)) rows.set(row.name, row)
        else rows.delete(row.name)
      }
    },
    connectorDeleted(name) {
      declared = undefined
      byName.set(name, undefined)
      for (const rows of byGateway.known.values()) rows.delete(name)
    },
    claimsChanged(row) {
      if (row.kind === 'Connector') changedClaims.set(fullNameOf(row), claimOf(row))
    },
    claimsDeleted(key) {
      if (key.kind === 'Connector') changedClaims.delete(fullNameOf(key))
    },
  }
  return { ...reads, prefetchConnectors: byName.read }
}

type Cache<T> = {
  readonly known: ReadonlyMap<string, T>
  get(key: string): Promise<T>
  /** Loads the values of keys that are not cached, with one statement. */
  read(keys: readonly string[]): Promise<void>
  set(key: string, value: T): void
  discard(key: string): void
  clear(): void
}

function createCache<T>(load: (keys: readonly string[]) => Promise<(key: string) => T>): Cache<T> {
  const known = new Map<string, T>()
  const read = async (keys: readonly string[]) => {
    const unread = [...new Set(keys)].filter((key) => !known.has(key))
    if (unread.length === 0) return
    const loaded = await load(unread)
    for (const key of unread) known.set(key, loaded(key))
  }
  return {
    known,
    read,
    async get(key) {
      await read([key])
      return known.get(key) as T
    },
    set: (key, value) => void known.set(key, value),
    discard: (key) => void known.delete(key),
    clear: () => known.clear(),
  }
}

async function presentOf<T extends object>(
  cache: Cache<T | undefined>,
  keys: readonly string[],
): Promise<readonly T[]> {
  await cache.read(keys)
  return keys.flatMap((key) => cache.known.get(key) ?? [])
}

function serves({ gatewayIds }: ConnectorRow, gatewayId: string): boolean {
  return gatewayIds.length === 0 || gatewayIds.includes(gatewayId)
}

/**
 * Sorts connectors with a credential before connectors without one, then manifests before rows of the API, then by
 * name.
 */
function byPrecedence(a: ConnectorRow, b: ConnectorRow): number {
  const rank = ({ credential, source }: ConnectorRow) =>
    (credential === null ? 2 : 0) + (source === 'api' ? 1 : 0)
  return rank(a) - rank(b) || (a.name < b.name ? -1 : 1)
}

function connectorKey(name: string): ObjectKey {
  const at = name.indexOf('/')
  return { kind: 'Connector', namespace: name.slice(0, at), name: name.slice(at + 1) }
}

function claimOf(row: ManifestRow): Claim {
  return { uid: row.uid, claims: storedClaims(row) }
}
