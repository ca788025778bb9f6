import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { PolicySpec } from '../../../core/crd/policy/policy-spec.ts'
import { parsePolicyYaml } from '../../../core/decision/policies/policy-document.ts'
import { emptyGroupWarnings } from '../../../core/decision/policies/policy-warnings.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { labelsOf } from '../../db/namespaces.ts'
import { recordEvent } from '../audit/events.ts'
import { type Binding, bindGateways, bindSelected, namespaceOf, standing } from '../gateways/binding.ts'
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
} from '../policies/record.ts'
import { findManagedPolicy, type PolicyRow, type PolicyTestResult } from '../policies/rows.ts'
import { deletePolicy, insertPolicy, type PolicyChanges, updatePolicy } from '../policies/store.ts'
import {
  type Applied,
  type Applier,
  type ApplyContext,
  accepted,
  answerPlace,
  isOfPlatform,
  MANIFESTS_ACTOR,
  type ManifestObject,
  namesOf,
  refused,
} from './apply-context.ts'
import { fullNameOf } from './full-name.ts'

export const policyApplier: Applier<'Policy'> = {
  async apply(context, object) {
    const yaml = policyText(object)
    const misplaced = misplacedSelector(context, object)
    if (misplaced !== null) return refuse(context, object, { yaml, reasons: [misplaced], problem: 'Invalid' })
    const checked = context.checkPolicy(yaml)
    if ('reasons' in checked)
      return refuse(context, object, { yaml, reasons: checked.reasons, problem: 'Invalid' })
    const failed = checked.tests.filter((test) => !test.passed)
    const tests = { passed: checked.tests.length - failed.length, total: checked.tests.length }
    if (failed.length > 0) {
      const reasons = failed.map(failureText)
      const given = { yaml, reasons, problem: 'TestsFailed', tests: checked.tests } as const
      return { ...(await refuse(context, object, given)), tests }
    }
    const binding = await bind(context, object)
    const row = await findManagedPolicy(context.q, object.fullName)
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

  async inForce({ q }, key) {
    const row = await findManagedPolicy(q, fullNameOf(key))
    if (row === undefined || !row.enabled) return 'nothing'
    if (row.activeYaml !== null) return compiles(row.activeYaml) ? 'last_good' : 'tightened'
    return row.invalid !== null && row.mode === 'enforce' ? 'denied' : 'nothing'
  },

  async remove(context, key) {
    const row = await findManagedPolicy(context.q, fullNameOf(key))
    if (row === undefined) return false
    await deletePolicy(context.q, row.id)
    await audit(context, 'policy.deleted', row)
    return true
  },
}

/**
 * Binds a policy to Gateways. `gatewayRefs` names them; the platform team can select them by `namespaceSelector`.
 * Without either, the policy of a tenant applies to the Gateways of its namespace. A policy of the platform team or of
 * a folder (which has one owner) applies to all Gateways and to API v1. The platform team needs no admission by
 * `allowedNamespaces`.
 */
async function bind(context: ApplyContext, object: ManifestObject<'Policy'>): Promise<Binding> {
  const { q, reads } = context
  const { namespace, spec, source, boundBefore } = object
  const { gatewayRefs, namespaceSelector } = LEGIBLE_REFS.parse(spec)
  const isPlatform = isOfPlatform(context, object)
  if (isPlatform && gatewayRefs === undefined && namespaceSelector !== undefined) {
    const rows = await reads.gateways()
    return bindSelected(rows, namespaceSelector, await labelsOf(q, [...new Set(rows.map(namespaceOf))]))
  }
  if (gatewayRefs === undefined && (source === 'file' || isPlatform)) return EVERYWHERE
  const labels = await reads.labels(namespace)
  const asking = { kind: 'policies', namespace, labels, boundBefore, isPlatform } as const
  return bindGateways(await reads.gateways(), asking, gatewayRefs)
}

function misplacedSelector(context: ApplyContext, object: ManifestObject<'Policy'>): string | null {
  if (object.spec.namespaceSelector === undefined || isOfPlatform(context, object)) return null
  return `spec.namespaceSelector is for Policies in a namespace of the platform team, and ${object.namespace} is none; name Gateways in spec.gatewayRefs`
}

const EVERYWHERE: Binding = { gateways: [], lost: [], bound: [], reasons: [], problem: null }

/** Reports whether the policy has no effect at any Gateway. */
function isUnbound({ gateways, lost, problem }: Binding): boolean {
  return problem !== null && gateways.length + lost.length === 0
}

/** Reports whether none of the Gateways of the policy admits it any more. */
function isLost({ gateways, lost }: Binding): boolean {
  return gateways.length === 0 && lost.length > 0
}

/** Returns the names of the Gateways that the policy is bound to; null for a policy of all Gateways. */
function boundNames({ gateways, lost }: Binding): readonly string[] | null {
  return gateways.length + lost.length === 0 ? null : namesOf(gateways)
}

function idsOf({ gateways, lost }: Binding): Pick<Wanted, 'gatewayIds' | 'lostGatewayIds'> {
  const lostGatewayIds = lost.map(({ id }) => id)
  return { gatewayIds: [...gateways.map(({ id }) => id), ...lostGatewayIds], lostGatewayIds }
}

/** Parses the references of refused manifests too: unreadable references count as absent. */
const LEGIBLE_REFS = z
  .looseObject({
    gatewayRefs: PolicySpec.shape.gatewayRefs.catch(undefined),
    namespaceSelector: PolicySpec.shape.namespaceSelector.catch(undefined),
  })
  .catch({})

type Refused = {
  readonly yaml: string
  readonly reasons: readonly string[]
  readonly problem: 'Invalid' | 'TestsFailed'
  readonly tests?: readonly PolicyTestResult[]
}

/**
 * Refuses a policy. The last text in force stays. If there is none, the scope of the policy is denied, so that a
 * mistake in a policy never admits requests that the policy would have refused.
 */
async function refuse(
  context: ApplyContext,
  object: ManifestObject<'Policy'>,
  { yaml, reasons, problem, tests = [] }: Refused,
): Promise<Applied> {
  const binding = await bind(context, object)
  const row = await findManagedPolicy(context.q, object.fullName)
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

/** Keeps the text in force and only updates the binding. A text whose tests fail is stored for display. */
async function keepInForce(
  context: ApplyContext,
  row: PolicyRow,
  { object, yaml, tests, gatewayIds, lostGatewayIds, problem }: Wanted & Pick<Refused, 'problem'>,
): Promise<boolean> {
  const { q } = context
  const isNewText =
    problem === 'TestsFailed' && !(row.policyYaml === yaml && isDeepStrictEqual(row.tests, tests))
  if (isNewText) await updatePolicy(q, row.id, { policyYaml: yaml, tests, version: row.version + 1 })
  const isBoundAgain = !row.enabled && legibleRecord(object.spec).enabled
  const changes: PolicyChanges = isBoundAgain
    ? { enabled: true, gatewayIds, lostGatewayIds }
    : differing(row, { lostGatewayIds: await lostOf(context, row) })
  if (Object.keys(changes).length === 0) return false
  await updatePolicy(q, row.id, changes)
  return true
}

/** Returns the Gateways that the last good version is bound to and that no longer admit it. */
async function lostOf(
  context: ApplyContext,
  { name, gatewayIds, source }: PolicyRow,
): Promise<readonly string[]> {
  const { reads } = context
  const rows = (await reads.gateways()).filter(({ id }) => gatewayIds.includes(id))
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
    await audit(context, 'policy.created', await insertPolicy(context.q, denying))
    return true
  }
  const text = row.policyYaml === wanted.yaml ? {} : { policyYaml: wanted.yaml, version: row.version + 1 }
  const changes = { ...differing(row, { ...recordOf(wanted), invalid }), ...text }
  if (Object.keys(changes).length === 0) return false
  await audit(context, 'policy.updated', (await updatePolicy(context.q, row.id, changes)) ?? row)
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

/** Disables a policy whose Gateways are missing or do not admit it, until that changes. */
async function disable({ q }: ApplyContext, row: PolicyRow | undefined): Promise<boolean> {
  if (row === undefined || !row.enabled) return false
  await updatePolicy(q, row.id, { enabled: false })
  return true
}

async function audit(
  { q, orgId }: ApplyContext,
  type: 'policy.created' | 'policy.updated' | 'policy.deleted' | 'policy.enabled' | 'policy.disabled',
  { id, name, version, managedBy }: PolicyRow,
): Promise<void> {
  await recordEvent(q, {
    orgId,
    actor: MANIFESTS_ACTOR,
    type,
    manifest: name,
    details: { policy_id: id, name, version, managed_by: managedBy },
  })
}
