import { ChaperoneError } from '../../core/errors.ts'
import type { Namespaces } from '../../core/wire/rights.ts'
import { EditedInYaml } from './edited-in-yaml.ts'
import type { PolicyReplay } from './policy-replay.ts'

/** How many of the newest records. */
const LIMIT = 200

/**
 * Runs the edit of one policy. Where objects are edited in YAML, the refusal says also what the edit would change in recent
 * requests, to callers who may see requests.
 *
 * @param namespaces Where the caller may; rejects with `forbidden` for a caller who may nowhere.
 */
export async function orReplayed<T>(
  { policyReplay }: { readonly policyReplay: PolicyReplay },
  namespaces: () => Promise<Namespaces>,
  edit: () => Promise<T>,
): Promise<T> {
  try {
    return await edit()
  } catch (error) {
    if (error instanceof EditedInYaml) throw await withReplay(error, policyReplay, namespaces)
    throw error
  }
}

async function withReplay(
  error: EditedInYaml,
  policyReplay: PolicyReplay,
  namespaces: () => Promise<Namespaces>,
): Promise<EditedInYaml> {
  const [policy] = error.refused.policies ?? []
  const visible = policy === undefined ? null : await namespaces().catch(noneIfForbidden)
  if (policy === undefined || visible === null) return error
  const { id, isStored, policyYaml, enabled, priority, mode } = policy
  const draft = { policyYaml, enabled, priority, mode, limit: LIMIT }
  const replay = await policyReplay(visible, isStored ? { ...draft, policyId: id } : draft)
  return new EditedInYaml({ ...error.refused, replay })
}

function noneIfForbidden(error: unknown): null {
  if (error instanceof ChaperoneError && error.code === 'forbidden') return null
  throw error
}
