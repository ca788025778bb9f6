import { isDeepStrictEqual } from 'node:util'
import { parsePolicyYaml } from '../../../../core/decision/policies/policy-document.ts'
import { emptyGroupWarnings } from '../../../../core/decision/policies/policy-warnings.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { type Binding, namespaceOf, standing } from '../../gateways/binding.ts'
import type { PolicyRow, PolicyTestResult } from '../../policies/rows.ts'
import {
  deletePolicy,
  insertPolicy,
  type PolicyChanges,
  type PolicyInput,
  updatePolicy,
} from '../../policies/write-store.ts'
import { bindPolicy, boundNames, idsOf, isLost, isUnbound, misplacedSelector } from '../policy/binding.ts'
import {
  changesOf,
  differing,
  failureText,
  illegibleText,
  legibleRecord,
  newRow,
  policyText,
  recordOf,
  type Wanted,
} from '../policy/policy-record.ts'
import { fullNameOf } from '../store.ts'
import {
  type Applied,
  type Applier,
  type ApplyContext,
  accepted,
  answerPlace,
  isOfPlatform,
  MANIFESTS_ACTOR,
  type ManifestObject,
  refused,
} from './context.ts'

export const policyApplier: Applier<'Policy'> = {
  async apply(context, object) {
    const yaml = policyText(object)
    const misplaced = misplacedSelector(context, object)
    if (misplaced !== null) return refuse(context, object, { yaml, reasons: [misplaced], problem: 'Invalid' })
    const checked = context.checkPolicy(yaml)
    if ('reasons' in checked)
      return refuse(context, object, { yaml, reasons: checked.reasons, problem: 'Invalid' })
    const failed = checked.tests.flatMap((test, index) => (test.passed ? [] : [{ test, index }]))
    const tests = { passed: checked.tests.length - failed.length, total: checked.tests.length }
    if (failed.length > 0) {
      const reasons = failed.map(({ test, index }) => `spec.tests[${index}]: ${failureText(test)}`)
      const given = { yaml, reasons, problem: 'TestsFailed', tests: checked.tests } as const
      return { ...(await refuse(context, object, given)), tests }
    }
    const binding = await bindPolicy(context, object)
    const row = await context.reads.policy(object.fullName)
    if (isUnbound(binding)) return unbound(context, row, binding)
    const { reasons, problem, bound } = binding
    const wanted = { object, yaml, tests: checked.tests, ...idsOf(binding) }
    if (isLost(binding)) {
      const changed = await activate(context, row, wanted)
      return refused({
        reasons,
        problem: 'NamespaceNotAllowed',
        bound,
        changed,
        tests,
        inForce: 'binding_lost',
      })
    }
    const gateways = boundNames(binding)
    const namespace = answerPlace(context, object)
    const warnings = [
      ...checked.warnings,
      ...emptyGroupWarnings(
        checked.document,
        await context.reads.groups(),
        context.members.absence(namespace),
      ),
    ]
    const changed = await activate(context, row, wanted)
    return accepted({ changed, gateways, warnings, tests, reasons, problem, bound })
  },

  refuse(context, object, reasons) {
    return refuse(context, object, { yaml: illegibleText(object.spec), reasons, problem: 'Invalid' })
  },

  async inForce({ reads }, key) {
    const row = await reads.policy(fullNameOf(key))
    if (row === undefined || !row.enabled) return 'nothing'
    if (row.activeYaml !== null) return compiles(row.activeYaml) ? 'last_good' : 'tightened'
    return row.invalid !== null && row.mode === 'enforce' ? 'denied' : 'nothing'
  },

  async remove(context, key) {
    const row = await context.reads.policy(fullNameOf(key))
    if (row === undefined) return false
    await deletePolicy(context.q, row.id)
    context.reads.policyChanged(row.name)
    audit(context, 'policy.deleted', row)
    return true
  },
}

type Refused = {
  readonly yaml: string
  readonly reasons: readonly string[]
  readonly problem: 'Invalid' | 'TestsFailed'
  readonly tests?: readonly PolicyTestResult[]
}

/**
 * Refuses a policy. The last accepted text stays in force. Without such a text, all actions in the scope of
 * the policy are denied: a mistake in a manifest must not admit requests that the policy without the mistake
 * would refuse.
 */
async function refuse(
  context: ApplyContext,
  object: ManifestObject<'Policy'>,
  { yaml, reasons, problem, tests = [] }: Refused,
): Promise<Applied> {
  const binding = await bindPolicy(context, object)
  const row = await context.reads.policy(object.fullName)
  if (isUnbound(binding)) return unbound(context, row, binding)
  const gateways = boundNames(binding)
  const wanted = { object, yaml, tests, ...idsOf(binding) }
  const changed =
    row !== undefined && row.activeYaml !== null
      ? await keepInForce(context, row, { ...wanted, problem })
      : await deny(context, row, { ...wanted, invalid: reasons.join('; ') })
  return refused({ reasons, problem, changed, gateways, bound: binding.bound })
}

async function unbound(
  context: ApplyContext,
  row: PolicyRow | undefined,
  { reasons, problem, bound }: Binding,
): Promise<Applied> {
  const changed = await disable(context, row)
  return refused({ reasons, problem: problem ?? 'GatewayNotFound', bound, changed })
}

/**
 * Keeps the text in force and updates the Gateways of the policy. Also stores a newer text whose tests fail, so that
 * pages can show it.
 */
async function keepInForce(
  context: ApplyContext,
  row: PolicyRow,
  { object, yaml, tests, gatewayIds, lostGatewayIds, problem }: Wanted & Pick<Refused, 'problem'>,
): Promise<boolean> {
  const isNewText =
    problem === 'TestsFailed' && !(row.policyYaml === yaml && isDeepStrictEqual(row.tests, tests))
  if (isNewText) await update(context, row, { policyYaml: yaml, tests, version: row.version + 1 })
  const isBoundAgain = !row.enabled && legibleRecord(object.spec).enabled
  const changes: PolicyChanges = isBoundAgain
    ? { enabled: true, gatewayIds, lostGatewayIds }
    : differing(row, { lostGatewayIds: await lostOf(context, row) })
  if (Object.keys(changes).length === 0) return false
  await update(context, row, changes)
  return true
}

/** Returns the Gateways that no longer admit the policy although its current version is bound to them. */
async function lostOf(
  context: ApplyContext,
  { name, gatewayIds, source }: PolicyRow,
): Promise<readonly string[]> {
  const { reads } = context
  const rows = await reads.gatewaysWithIds(gatewayIds)
  const namespace = namespaceOf({ name })
  const isPlatform = source === 'kubernetes' && isOfPlatform(context, { namespace, source })
  const labels = await reads.labels(namespace)
  return standing(rows, { kind: 'policies', namespace, labels, isPlatform }).lost.map(({ id }) => id)
}

async function deny(
  context: ApplyContext,
  row: PolicyRow | undefined,
  { invalid, ...wanted }: Wanted & { readonly invalid: string },
): Promise<boolean> {
  if (row === undefined) {
    const denying = { ...newRow(context, wanted), activeYaml: null, activeVersion: null, invalid }
    audit(context, 'policy.created', await insert(context, denying))
    return true
  }
  const text = row.policyYaml === wanted.yaml ? {} : { policyYaml: wanted.yaml, version: row.version + 1 }
  const changes = { ...differing(row, { ...recordOf(wanted), invalid }), ...text }
  if (Object.keys(changes).length === 0) return false
  audit(context, 'policy.updated', await update(context, row, changes))
  return true
}

function compiles(text: string): boolean {
  try {
    parsePolicyYaml(text)
    return true
  } catch (error) {
    if (error instanceof ChaperoneError) return false
    throw error
  }
}

async function activate(context: ApplyContext, row: PolicyRow | undefined, wanted: Wanted): Promise<boolean> {
  if (row === undefined) {
    const inserted = await insert(context, newRow(context, wanted))
    audit(context, 'policy.created', inserted)
    return true
  }
  const changes = changesOf(row, wanted)
  if (Object.keys(changes).length === 0) return false
  const updated = await update(context, row, changes)
  audit(context, 'policy.updated', updated)
  if (row.enabled !== updated.enabled)
    audit(context, updated.enabled ? 'policy.enabled' : 'policy.disabled', updated)
  return true
}

/** Disables a policy whose Gateways are missing or do not admit the policy. */
async function disable(context: ApplyContext, row: PolicyRow | undefined): Promise<boolean> {
  if (row === undefined || !row.enabled) return false
  await update(context, row, { enabled: false })
  return true
}

async function insert({ q, reads }: ApplyContext, row: PolicyInput): Promise<PolicyRow> {
  const inserted = await insertPolicy(q, row)
  reads.policyChanged(row.name)
  return inserted
}

async function update(
  { q, reads }: ApplyContext,
  row: PolicyRow,
  changes: PolicyChanges,
): Promise<PolicyRow> {
  const updated = await updatePolicy(q, row.id, changes)
  reads.policyChanged(row.name)
  return updated ?? row
}

function audit(
  { orgId, writes }: ApplyContext,
  type: 'policy.created' | 'policy.updated' | 'policy.deleted' | 'policy.enabled' | 'policy.disabled',
  { id, name, version, managedBy }: PolicyRow,
): void {
  writes.record({
    orgId,
    actor: MANIFESTS_ACTOR,
    type,
    manifest: name,
    details: { policy_id: id, name, version, managed_by: managedBy },
  })
}
