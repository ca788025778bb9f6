import { ChaperoneError } from '../../../../core/errors.ts'
import type { Namespaces } from '../../../../core/wire/access/rights.ts'
import type { PolicyReplay, ReplayDraft } from '../../policies/replay.ts'
import { EditedInYaml, type EditedPolicy } from './edited-in-yaml.ts'

/** Number of records to replay, newest first. */
const LIMIT = 200

/**
 * Runs an edit of policies. Where policies may only be edited in YAML, the edit is refused. The error then contains
 * the effect of the edit on recent requests, if the caller has the right to read traffic records.
 *
 * @param namespaces Returns the namespaces in which the caller may read records. Rejects with `forbidden` when there
 * are none.
 */
export type ReplayedEdit = <T>(namespaces: () => Promise<Namespaces>, edit: () => Promise<T>) => Promise<T>

export function createReplayedEdit(policyReplay: PolicyReplay): ReplayedEdit {
  return async (namespaces, edit) => {
    try {
      return await edit()
    } catch (error) {
      if (error instanceof EditedInYaml) throw await withReplay(error, policyReplay, namespaces)
      throw error
    }
  }
}

async function withReplay(
  error: EditedInYaml,
  policyReplay: PolicyReplay,
  namespaces: () => Promise<Namespaces>,
): Promise<EditedInYaml> {
  const { policies = [] } = error.refused
  const visible = policies.length === 0 ? null : await namespaces().catch(noneIfForbidden)
  if (visible === null) return error
  const replay = await policyReplay(visible, { drafts: policies.map(draftOf), limit: LIMIT })
  return new EditedInYaml({ ...error.refused, replay })
}

function draftOf({ id, isStored, ...draft }: EditedPolicy): ReplayDraft {
  const { policyYaml, enabled, priority, mode, gatewayIds } = draft
  return { policyYaml, enabled, priority, mode, gatewayIds, policyId: isStored ? id : undefined }
}

function noneIfForbidden(error: unknown): null {
  if (error instanceof ChaperoneError && error.code === 'forbidden') return null
  throw error
}
