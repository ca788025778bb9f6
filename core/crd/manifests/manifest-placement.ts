import type { ResourceKind } from '../schemas.ts'
import type { ExportNote } from './export-note.ts'
import type { ManifestName, Names } from './manifest-names.ts'

/** Gateways and namespaces that determine the namespace of the manifest for an object that the API created. */
export type Placement = {
  readonly gateways: ReadonlyArray<{ readonly id: string; readonly name: string }>
  /**
   * Namespaces of the platform team on a cluster. The first one receives the policies for all Gateways. Empty for a
   * manifests folder, where the policies of every namespace apply to all Gateways.
   */
  readonly platformNamespaces: readonly string[]
}

export type Manifest = {
  readonly kind: ResourceKind
  readonly metadata: ManifestName
  readonly spec: unknown
  readonly note?: ExportNote
}

export type PlacementContext = Placement & {
  readonly names: Names
  readonly placed: ReadonlyMap<string, ManifestName>
}

export function isCluster({ platformNamespaces }: Placement): boolean {
  return platformNamespaces.length > 0
}

/** Returns the `name` of `namespace/name`. */
export function bareName(name: string): string {
  return name.slice(name.indexOf('/') + 1)
}

export function referenceTo(gateway: ManifestName | undefined, namespace: string) {
  if (gateway === undefined) return []
  return [gateway.namespace === namespace ? { name: gateway.name } : { ...gateway }]
}

/**
 * Returns the namespaces of the Gateways, each with the names of its Gateways. An empty list of ids stands for all
 * Gateways. Returns the namespace `default` if there are no Gateways.
 */
export function byNamespace(
  gatewayIds: readonly string[],
  { placed }: PlacementContext,
): Array<[string, string[]]> {
  const wanted =
    gatewayIds.length === 0 ? [...placed.values()] : gatewayIds.flatMap((id) => placed.get(id) ?? [])
  const found = Map.groupBy(wanted, ({ namespace }) => namespace)
  const spaces = [...found].map(([namespace, list]): [string, string[]] => [
    namespace,
    list.map(({ name }) => name),
  ])
  return spaces.length === 0 ? [['default', []]] : spaces
}
