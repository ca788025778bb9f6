import { covers, type Namespaces } from '../../../core/wire/access/rights.ts'
import type { ManifestObjectView, ManifestsReply } from '../../../core/wire/manifests.ts'
import type { InForce } from '../../../core/wire/operator/operator.ts'
import { UNKNOWN_ORIGIN } from '../../../core/wire/operator/origin.ts'
import { currentVersion } from '../../db/config-version.ts'
import type { Query } from '../../db/query.ts'
import { createScopedQuery } from '../../db/scoped-query.ts'
import { type DesiredRow, type JudgedRow, listDesiredIn, listProblems } from './store.ts'

export type ManifestsView = Omit<ManifestsReply, 'in_force'>

/**
 * Lists the manifest objects of the namespaces. Problems of manifest files belong to no namespace, so only a caller
 * with access to all namespaces gets them.
 */
export async function readManifests(q: Query, namespaces: Namespaces): Promise<ManifestsView> {
  const objects = (await listDesiredIn(createScopedQuery(q, namespaces))).map(objectView)
  const found = covers(namespaces, null) ? await listProblems(q) : []
  const problems = found.map(({ file, line, message }) => ({ file, line, message }))
  return { objects, problems, config_version: await currentVersion(q) }
}

export function inForceOf({ accepted, stored }: DesiredRow): InForce {
  return stored.outcome?.in_force ?? (accepted ? 'as_written' : 'nothing')
}

function objectView(row: JudgedRow): ManifestObjectView {
  const { kind, namespace, name, source, managedBy, accepted, reasons, stored, generation, judgedAt } = row
  return {
    kind,
    namespace,
    name,
    source,
    managed_by: managedBy,
    origin: { from: 'manifest', ...(stored.origin ?? UNKNOWN_ORIGIN) },
    generation,
    accepted,
    in_force: inForceOf(row),
    reasons: [...reasons],
    warnings: [...stored.warnings],
    judged_at: judgedAt,
  }
}
