import { isDeepStrictEqual } from 'node:util'
import { stringify } from 'yaml'
import type { PolicyDocument } from '../../core/crd/schemas.ts'
import { parsePolicyYaml } from '../../core/decision/policy-document.ts'
import { runPolicyTests } from '../../core/decision/policy-tests.ts'
import { emptyGroupWarnings } from '../../core/decision/policy-warnings.ts'
import { ChaperoneError } from '../../core/errors.ts'
import { newId } from '../crypto/ids.ts'
import { appendAudit } from '../store/audit.ts'
import { listGateways } from '../store/gateways.ts'
import {
  deletePolicy,
  findManagedPolicy,
  insertPolicy,
  type PolicyChanges,
  type PolicyRow,
  type PolicyTestResult,
  updatePolicy,
} from '../store/policies.ts'
import { listGroups } from '../store/users.ts'
import {
  type Applier,
  type ApplyContext,
  accepted,
  fullNameOf,
  MANIFESTS_ACTOR,
  type ManifestObject,
  namesOf,
  refused,
} from './desired-context.ts'
import { type Binding, bindGateways } from './gateway-binding.ts'

export const policyApplier: Applier<'Policy'> = {
  async apply(context, object) {
    const binding = await bind(context, object)
    const row = await findManagedPolicy(context.q, object.fullName)
    if (!binding.ok) {
      const { reasons, problem } = binding
      return refused({ reasons, problem, changed: await disable(context, row) })
    }
    const yaml = policyText(object)
    const checked = check(yaml, context.knownAction)
    if ('reasons' in checked) return refused({ reasons: checked.reasons, problem: 'Invalid' })
    const failed = checked.tests.filter((test) => !test.passed)
    const gatewayIds = binding.gateways.map((gateway) => gateway.id)
    const wanted = { object, yaml, tests: checked.tests, gatewayIds }
    const warnings = [
      ...checked.warnings,
      ...emptyGroupWarnings(checked.document, await listGroups(context.q)),
    ]
    const tests = { passed: checked.tests.length - failed.length, total: checked.tests.length }
    if (failed.length > 0) {
      const changed = await storeFailing(context, row, wanted)
      return refused({ reasons: failed.map(failureText), problem: 'TestsFailed', changed, tests })
    }
    const gateways = gatewayIds.length === 0 ? null : namesOf(binding.gateways)
    return accepted({ changed: await activate(context, row, wanted), gateways, warnings, tests })
  },

  async remove(context, key) {
    const row = await findManagedPolicy(context.q, fullNameOf(key))
    if (row === undefined) return false
    await deletePolicy(context.q, row.id)
    await audit(context, 'policy.deleted', row)
    return true
  },
}

type Wanted = {
  readonly object: ManifestObject<'Policy'>
  readonly yaml: string
  readonly tests: readonly PolicyTestResult[]
  readonly gatewayIds: readonly string[]
}

/**
 * A policy without references is for the gateways of its namespace. A folder has one owner, so there it is for all of
 * the installation, v1 included.
 */
async function bind(
  { q }: ApplyContext,
  { namespace, spec, source }: ManifestObject<'Policy'>,
): Promise<Binding> {
  if (spec.gatewayRefs === undefined && source === 'file') return { ok: true, gateways: [] }
  const asking = { kind: 'policies', namespace } as const
  const gateways = await listGateways(q)
  return bindGateways(gateways, asking, spec.gatewayRefs)
}

/** The document alone: what else a Policy says is in the row's own fields. */
function policyText({ spec }: ManifestObject<'Policy'>): string {
  const { description, scope, rules, tests } = spec
  const document = { ...(description === undefined ? {} : { description }), scope, rules, tests }
  return stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 })
}

type Checked =
  | { readonly reasons: readonly string[] }
  | {
      readonly document: PolicyDocument
      readonly tests: readonly PolicyTestResult[]
      readonly warnings: readonly string[]
    }

function check(yaml: string, knownAction: ApplyContext['knownAction']): Checked {
  try {
    const { document, warnings } = parsePolicyYaml(yaml)
    const tests = runPolicyTests(document, knownAction).map(({ name, passed, expected, got }) =>
      passed ? { name, passed } : { name, passed, failure: `expected ${expected}, got ${got}` },
    )
    return { document, tests, warnings }
  } catch (error) {
    if (!(error instanceof ChaperoneError)) throw error
    // Lines of the text made above mean nothing to whoever wrote the manifest; the paths do.
    return {
      reasons: (error.options.problems ?? [error.message]).map((message) =>
        message.replace(/^line \d+: /, 'spec.'),
      ),
    }
  }
}

function failureText({ name, failure }: PolicyTestResult): string {
  return `the test "${name}" fails: ${failure}; the last version whose tests passed stays in force`
}

/** The new text is kept to be looked at; nothing of what is in force changes. */
async function storeFailing(
  context: ApplyContext,
  row: PolicyRow | undefined,
  wanted: Wanted,
): Promise<boolean> {
  const { yaml, tests } = wanted
  if (row === undefined) {
    await insertPolicy(context.q, { ...newRow(context, wanted), activeYaml: null, activeVersion: null })
  } else if (row.policyYaml !== yaml || !isDeepStrictEqual(row.tests, tests)) {
    await updatePolicy(context.q, row.id, { policyYaml: yaml, tests, version: row.version + 1 })
  }
  return false
}

async function activate(context: ApplyContext, row: PolicyRow | undefined, wanted: Wanted): Promise<boolean> {
  if (row === undefined) {
    const inserted = await insertPolicy(context.q, newRow(context, wanted))
    await audit(context, 'policy.created', inserted)
    return true
  }
  const changes = changesOf(row, wanted)
  if (Object.keys(changes).length === 0) return false
  const updated = (await updatePolicy(context.q, row.id, changes)) ?? row
  await audit(context, 'policy.updated', updated)
  if (row.enabled !== updated.enabled)
    await audit(context, updated.enabled ? 'policy.enabled' : 'policy.disabled', updated)
  return true
}

function newRow({ orgId }: ApplyContext, wanted: Wanted) {
  const version = 1
  const id = newId('policy')
  const { object, yaml } = wanted
  return {
    id,
    orgId,
    name: object.fullName,
    ...recordOf(wanted),
    policyYaml: yaml,
    activeYaml: yaml,
    version,
    activeVersion: version,
  }
}

function recordOf({ object, tests, gatewayIds }: Wanted) {
  const { spec, source, managedBy } = object
  const { enabled, priority, tags, mode, description } = spec
  return {
    description: description ?? '',
    enabled,
    priority,
    tags,
    mode,
    gatewayIds,
    tests,
    source,
    managedBy,
  }
}

/** Only what differs; the version rises when the text does. */
function changesOf(row: PolicyRow, wanted: Wanted): PolicyChanges {
  const record = recordOf(wanted)
  const differing = Object.entries(record).filter(
    ([name, value]) => !isDeepStrictEqual(row[name as keyof typeof record], value),
  )
  const changes = Object.fromEntries(differing) as PolicyChanges
  const { yaml } = wanted
  if (row.policyYaml !== yaml) {
    const version = row.version + 1
    return { ...changes, policyYaml: yaml, activeYaml: yaml, version, activeVersion: version }
  }
  return row.activeYaml === yaml ? changes : { ...changes, activeYaml: yaml, activeVersion: row.version }
}

/** What a policy is for is gone or does not admit it: it has no effect until that changes. */
async function disable({ q }: ApplyContext, row: PolicyRow | undefined): Promise<boolean> {
  if (row === undefined || !row.enabled) return false
  await updatePolicy(q, row.id, { enabled: false })
  return true
}

async function audit(
  { q, orgId }: ApplyContext,
  eventType: 'policy.created' | 'policy.updated' | 'policy.deleted' | 'policy.enabled' | 'policy.disabled',
  { id, name, version, managedBy }: PolicyRow,
): Promise<void> {
  await appendAudit(q, {
    orgId,
    actor: MANIFESTS_ACTOR,
    eventType,
    details: { policy_id: id, name, version, managed_by: managedBy },
  })
}
