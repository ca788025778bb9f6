import type { ResourceKind } from '../../../core/crd/schemas.ts'
import {
  type ManifestOrigin,
  type ObjectOrigin,
  type RowOrigin,
  UNKNOWN_ORIGIN,
} from '../../../core/wire/operator/origin.ts'
import type { Source } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { listManifestOriginsIn } from './store.ts'

type Row = { readonly source: Source; readonly origin: RowOrigin | null }
type NamedRow = Row & { readonly name: string }

/** Returns the origins of rows: the manifest, dashboard or command that created each row. */
export type Origins = {
  of(kind: Exclude<ResourceKind, 'Permission'>, row: NamedRow): ObjectOrigin
  ofPermission(row: Row & { readonly owner: string | null }): ObjectOrigin
  /**
   * Returns the origin of an agent. Manifests do not define agents: the control plane creates the agents of a cluster
   * for their ServiceAccounts.
   */
  ofAgent(row: Row): ObjectOrigin
}

export async function readOrigins(q: ScopedQuery): Promise<Origins> {
  const manifests = await listManifestOriginsIn(q)
  return {
    of: (kind, row) => originOfRow(row, manifests.get(`${kind}/${row.name}`)),
    ofPermission: (row) => originOfRow(row, row.owner === null ? undefined : manifests.get(row.owner)),
    ofAgent: (row) => originOfRow(row, undefined),
  }
}

function originOfRow({ source, origin }: Row, manifest: ManifestOrigin = UNKNOWN_ORIGIN): ObjectOrigin {
  if (source !== 'api') return { from: 'manifest', ...manifest }
  return { from: origin ?? 'command_line', ...UNKNOWN_ORIGIN }
}
