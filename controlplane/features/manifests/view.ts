import { lineOfReason } from '../../../core/crd/manifests/field-lines.ts'
import { covers, type Namespaces } from '../../../core/wire/access/rights.ts'
import type { ManifestObjectView, ManifestsReply } from '../../../core/wire/manifests.ts'
import type { InForce } from '../../../core/wire/operator/operator.ts'
import { UNKNOWN_ORIGIN } from '../../../core/wire/operator/origin.ts'
import { currentVersion } from '../../db/config-version.ts'
import type { Query } from '../../db/query.ts'
import { createScopedQuery } from '../../db/scoped-query.ts'
import { listProblems } from './problems.ts'
import { type EvaluatedRow, listManifestsIn, type ManifestRow } from './rows.ts'

export type ManifestsView = Omit<ManifestsReply, 'in_force'>

/**
 * Lists the manifest objects of the namespaces. Also lists the problems of manifest files if the caller has access to
 * all namespaces, because these problems belong to no namespace.
 */
export async function readManifests(q: Query, namespaces: Namespaces): Promise<ManifestsView> {
  const objects = (await listManifestsIn(createScopedQuery(q, namespaces))).map(objectView)
  const found = covers(namespaces, null) ? await listProblems(q) : []
  const problems = found.map(({ file, line, message }) => ({ file, line, message }))
  return { objects, problems, config_version: await currentVersion(q) }
}

export function inForceOf({ accepted, stored }: ManifestRow): InForce {
  return stored.outcome?.in_force ?? (accepted ? 'as_written' : 'nothing')
}

function objectView(row: EvaluatedRow): ManifestObjectView {
  const { kind, namespace, name, source, managedBy, accepted, reasons, stored, generation, evaluatedAt } = row
  const { lines = {} } = stored
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
    reason_lines: reasons.map((reason) => lineOfReason(lines, reason)),
    warning_lines: stored.warnings.map((warning) => lineOfReason(lines, warning)),
    judged_at: evaluatedAt,
  }
}
