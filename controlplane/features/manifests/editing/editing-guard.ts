import { isDeepStrictEqual } from 'node:util'
import type { Manifest, Placement } from '../../../../core/crd/manifests/manifest-placement.ts'
import type { PolicyFacts } from '../../../../core/crd/manifests/policy-manifests.ts'
import {
  type ManifestRows,
  manifestsText,
  nameOfManifest,
  rowManifests,
} from '../../../../core/crd/manifests/row-manifests.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import type { Db, Query } from '../../../db/query.ts'
import { createScopedQuery } from '../../../db/scoped-query.ts'
import { readManifestRows, type StoredRows } from '../rows.ts'
import { tryLockManifests } from '../store.ts'
import { EditedInYaml, type EditedPolicy } from './edited-in-yaml.ts'

/**
 * Wraps a database so that users cannot edit Gateways, Connectors, Permissions and Policies. A transaction that changes
 * a manifest-defined column is rolled back and rejects with `conflict`. The error contains the manifests to commit. The
 * guard inspects SQL statements instead of callers, so that every new route is guarded too. Columns that no manifest
 * states, for example addresses and tokens of gateways, stay writable.
 */
export function createEditingGuard(db: Db, platformNamespaces: ReadonlySet<string>): Db {
  const tx: Db['tx'] = (work) =>
    db.tx(async (q) => {
      const guarded = watch(q)
      const value = await work(guarded.query)
      const before = guarded.before()
      if (before !== null) refuseEdits(before, await rowsOf(q), platformNamespaces)
      return value
    })
  return {
    ...db,
    tx,
    query: (text, values) =>
      writesConfiguration(text) ? tx((q) => q.query(text, values)) : db.query(text, values),
  }
}

const rowsOf = (q: Query) => readManifestRows(createScopedQuery(q, 'all'), 'newest')

type Watched = { readonly query: Query; readonly before: () => StoredRows | null }

/**
 * Wraps a query. Reads the configuration rows before the first statement of the transaction that writes configuration.
 */
function watch(q: Query): Watched {
  let before: StoredRows | null = null
  return {
    before: () => before,
    query: {
      refusesEdits: true,
      async query(text, values) {
        if (before === null && writesConfiguration(text)) {
          if (!(await tryLockManifests(q))) throw busy()
          before = await rowsOf(q)
        }
        return q.query(text, values)
      },
    },
  }
}

function busy(): ChaperoneError {
  return new ChaperoneError('not_ready', {
    detail: 'Manifests are being applied at this moment, so the change was not saved. Try again.',
    retryAfterS: 1,
  })
}

function refuseEdits(before: StoredRows, after: StoredRows, platformNamespaces: ReadonlySet<string>): void {
  if (isDeepStrictEqual(contentsOf(before), contentsOf(after))) return
  const platform = [...platformNamespaces]
  const was = complete(before, { gateways: before.gateways, platformNamespaces: platform })
  const is = complete(after, { gateways: after.gateways, platformNamespaces: platform })
  const manifests = [...is].flatMap(([key, one]) => (isDeepStrictEqual(was.get(key), one) ? [] : [one]))
  const removed = [...was].flatMap(([key, one]) => (is.has(key) ? [] : [one]))
  throw new EditedInYaml({
    remedy: remedyOf(manifests, removed),
    manifest: manifestsText(manifests),
    removed: removed.map(({ kind, metadata }) => ({ kind, ...metadata })),
    policies: editedPolicies(before.policies, after.policies),
  })
}

function remedyOf(manifests: readonly Manifest[], removed: readonly Manifest[]): string {
  const isLeftOut = ({ note }: Manifest) => note?.effect === 'left_out'
  const written = manifests.filter((manifest) => !isLeftOut(manifest))
  const gone = removed.filter((manifest) => !isLeftOut(manifest))
  const steps = [
    ...(written.length === 0 ? [] : [`Commit the manifest: ${namesOf(written)}.`]),
    ...(gone.length === 0 ? [] : [`Remove from the repository: ${namesOf(gone)}.`]),
    ...manifests
      .filter(isLeftOut)
      .map((one) => `No manifest can express ${nameOfManifest(one)}: ${one.note?.text}`),
  ]
  return steps.length === 0 ? 'Change the Secret that the Connector names.' : steps.join(' ')
}

function editedPolicies(
  before: StoredRows['policies'],
  after: StoredRows['policies'],
): readonly EditedPolicy[] {
  const known = new Map(before.map((row) => [row.id, row]))
  const left = new Set(after.map(({ id }) => id))
  const isChanged = (row: PolicyFacts & { readonly id: string }) =>
    !isDeepStrictEqual(policyContents(known.get(row.id)), policyContents(row))
  const gone = before.filter(({ id }) => !left.has(id))
  return [
    ...after.filter(isChanged).map((row) => edited(row, { isStored: known.has(row.id), isRemoved: false })),
    ...gone.map((row) => edited({ ...row, enabled: false }, { isStored: true, isRemoved: true })),
  ]
}

function edited(
  { id, name, text: policyYaml, enabled, priority, mode, gatewayIds, tests }: StoredRows['policies'][number],
  state: Pick<EditedPolicy, 'isStored' | 'isRemoved'>,
): EditedPolicy {
  return { id, name, policyYaml, enabled, priority, mode, gatewayIds, tests, ...state }
}

const MOST_NAMES = 8

function namesOf(manifests: readonly Manifest[]): string {
  const names = manifests.map(nameOfManifest)
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : ''
  return `${names.slice(0, MOST_NAMES).join(', ')}${more}`
}

function complete(rows: ManifestRows, placement: Placement): ReadonlyMap<string, Manifest> {
  const manifests = rowManifests(rows, { ...placement, isWhole: true })
  return new Map(manifests.map((one) => [nameOfManifest(one), one]))
}

/**
 * Returns the manifest-defined content of each row. The guard compares the contents before and after a transaction to
 * detect an edit. Credentials are compared in encrypted form.
 */
function contentsOf({ gateways, connectors, permissions, policies }: ManifestRows): unknown {
  return {
    gateways: gateways.map(({ id, name, spec }) => [id, name, spec]),
    connectors: connectors.map(({ name, gatewayIds, spec, credential }) => [
      name,
      gatewayIds,
      spec,
      credential,
    ]),
    permissions: permissions.map((row) => [
      ...[row.gatewayId, row.agent, row.connectorType, row.actionPattern],
      ...[row.decision, row.reason, row.owner],
    ]),
    policies: policies.map(policyContents),
  }
}

function policyContents(row: PolicyFacts | undefined): unknown {
  if (row === undefined) return null
  const { name, source, gatewayIds, text, description, enabled, priority, tags, mode } = row
  return [name, source, gatewayIds, text, description, enabled, priority, tags, mode]
}

const WRITES =
  /\b(?:insert\s+into|update|delete\s+from|merge\s+into|truncate(?:\s+table)?|copy)\s+(?:only\s+)?(?:"?\w+"?\.)?"?(?:gateways|connectors|permissions|policies)"?(?![\w"])/i

/** Reports whether a statement writes rows of Gateways, Connectors, Permissions or Policies. */
export function writesConfiguration(statement: string): boolean {
  return WRITES.test(statement)
}
