import { isDeepStrictEqual } from 'node:util'
import type * as z from 'zod'
import { createCatalogue } from '../../core/connectors/catalogue.ts'
import { checkUserRows } from '../../core/connectors/rows/user-rows.ts'
import type { ConnectorSpec } from '../../core/crd/connector-spec.ts'
import { NOT_IN_CLUSTER } from '../../core/crd/credentials/local-source-spec.ts'
import { type FieldBelowFloor, type FloorRules, floored, floorText } from '../../core/crd/gateway/floors.ts'
import type { GatewaySpec } from '../../core/crd/gateway/gateway-spec.ts'
import { GRANT_LABEL, grantObjectName, hasGrantFields } from '../../core/crd/manifests/grant-permission.ts'
import type { PolicyDocument } from '../../core/crd/policy/policy-document.ts'
import type { PolicySpec } from '../../core/crd/policy/policy-spec.ts'
import { policyDocumentOf } from '../../core/crd/policy/policy-spelling.ts'
import {
  ConnectorResource,
  GatewayResource,
  PermissionResource,
  PolicyResource,
} from '../../core/crd/schemas.ts'
import { type PatternRule, permissionWarnings } from '../../core/decision/permissions/permission-warnings.ts'
import { documentProblems } from '../../core/decision/policies/policy-document.ts'
import { policyTestCost } from '../../core/decision/policies/policy-test-cost.ts'
import { runPolicyTests } from '../../core/decision/policies/policy-tests.ts'
import { policyWarnings } from '../../core/decision/policies/policy-warnings.ts'
import { fieldProblemText, parseFields } from '../../core/schema/parse-fields.ts'
import type { AdmissionRequest, AdmissionResponse } from './admission-review.ts'

const SCHEMAS: Readonly<Record<string, z.ZodType<{ kind: string; spec: unknown }>>> = {
  gateways: GatewayResource,
  connectors: ConnectorResource,
  permissions: PermissionResource,
  policies: PolicyResource,
}

/**
 * Limits of the validation, which runs in the process that admits pods: total characters of the conditions, and
 * evaluation steps of the tests of a Policy.
 */
const MAX_CONDITION_TEXT = 32 * 1024
const MAX_TEST_COST = 16 * 1024

type Written = {
  readonly metadata?: {
    readonly name?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly deletionTimestamp?: unknown
  }
  readonly spec?: unknown
}

/** Values of the installation by which custom resources are reviewed. */
export type ManifestRules = {
  /** Weakest settings (floor) that a Gateway may have. When absent, a Gateway may have any settings. */
  readonly floorRules?: FloorRules
  /**
   * User name of the operator, the only user that may write Permissions of grants. When it is absent, no user may write
   * them.
   */
  readonly operatorUser?: string
}

/**
 * Refuses a custom resource that could not come into force. An update with an unchanged `spec`, or with changes of only
 * the kill switch, is always allowed: an existing error must not block a kill switch.
 */
export function reviewManifest(request: AdmissionRequest, rules: ManifestRules = {}): AdmissionResponse {
  const { operation, resource, subResource = '' } = request
  const schema = SCHEMAS[resource.resource]
  const isOurs = resource.group === 'chaperone.dev' && schema !== undefined && subResource === ''
  if (!isOurs || (operation !== 'CREATE' && operation !== 'UPDATE')) return { allowed: true }
  const object = (request.object ?? {}) as Written
  if (object.metadata?.deletionTimestamp !== undefined) return { allowed: true }
  if (operation === 'UPDATE' && !isSpecChanged(request.oldObject as Written | undefined, object))
    return { allowed: true }
  const { kind } = (request.object ?? {}) as { readonly kind?: unknown }
  const parsed = parseFields(schema, request.object, { kind })
  if (parsed.problems !== null)
    return refuse(parsed.problems.map((problem) => fieldProblemText(problem, 'the object')))
  return judgeValid(request, parsed.data, rules)
}

function judgeValid(
  request: AdmissionRequest,
  { kind, spec }: { readonly kind: string; readonly spec: unknown },
  rules: ManifestRules,
): AdmissionResponse {
  const { floorRules } = rules
  if (kind === 'Gateway') return judgeGateway(request, spec as GatewaySpec, floorRules)
  const ofGrant = kind === 'Permission' ? grantProblem(request, rules) : null
  return ofGrant === null ? judge({ kind, spec }, isTenant(request, floorRules)) : refuse([ofGrant])
}

/** Returns why a user may not write this Permission; null if they may. */
function grantProblem(
  { object, oldObject, userInfo }: AdmissionRequest,
  { operatorUser }: ManifestRules,
): string | null {
  if (operatorUser !== undefined && userInfo?.username === operatorUser) return null
  if (oldObject != null && isOfGrant(oldObject as Written)) return CHANGED_GRANT
  const fields = ((object as Written).spec ?? {}) as Parameters<typeof hasGrantFields>[0]
  return hasGrantFields(fields) ? UNGRANTED : null
}

/** Reports whether the Permission was written for a grant: its name is derived from the grant id in its label. */
function isOfGrant({ metadata: { name, labels } = {} }: Written): boolean {
  const id = labels?.[GRANT_LABEL]
  return id !== undefined && name === grantObjectName(id)
}

const GRANT_STEPS =
  'approve a held request with "Grant for a time" (`chaperone approvals approve ID --for 1h`), and the operator writes the Permission'
const UNGRANTED = `only Chaperone sets spec.expiresAt and spec.maxUses, in the Permission that it writes when an approver gives access for a time (a grant); remove both fields, or ${GRANT_STEPS}`
const CHANGED_GRANT = `this Permission shows access that an approver gave for a time (a grant), and a grant cannot be changed; to revoke the access, delete the Permission; for other access, ${GRANT_STEPS}`

function isTenant({ namespace }: AdmissionRequest, rules: FloorRules | undefined): boolean {
  return rules !== undefined && !rules.platformNamespaces.has(namespace)
}

/**
 * Refuses a new value below its floor, that is, weaker than the installation permits. An unchanged value that
 * was below the floor before is admitted with a warning, and the floor is in force instead.
 */
function judgeGateway(
  { namespace, oldObject }: AdmissionRequest,
  spec: GatewaySpec,
  rules: FloorRules | undefined,
): AdmissionResponse {
  const { below } = floored(spec, namespace, rules)
  const old = GatewayResource.safeParse(oldObject)
  const before = old.success ? floored(old.data.spec, namespace, rules).below : []
  const isNew = ({ field, written }: FieldBelowFloor) =>
    !before.some((each) => each.field === field && each.written === written)
  const refused = below.filter(isNew)
  if (refused.length > 0) return refuse(refused.map(floorText))
  return { allowed: true, warnings: below.map((each) => `${floorText(each)}; the minimum is in force`) }
}

function isSpecChanged(before: Written | undefined, after: Written): boolean {
  return !isDeepStrictEqual(withoutKillSwitch(before?.spec), withoutKillSwitch(after.spec))
}

function withoutKillSwitch(spec: unknown): unknown {
  if (typeof spec !== 'object' || spec === null) return spec
  const { killSwitch: _killSwitch, ...rest } = spec as Record<string, unknown>
  return rest
}

function judge(
  { kind, spec }: { readonly kind: string; readonly spec: unknown },
  isOfTenant: boolean,
): AdmissionResponse {
  if (kind === 'Policy') return judgePolicy(spec as PolicySpec, isOfTenant)
  if (kind === 'Connector') return judgeConnector(spec as ConnectorSpec)
  if (kind !== 'Permission') return { allowed: true }
  const { rules } = spec as { readonly rules: readonly PatternRule[] }
  return { allowed: true, warnings: rules.flatMap((rule) => permissionWarnings(rule, [], rules)) }
}

function judgeConnector({ type, actions, credential }: ConnectorSpec): AdmissionResponse {
  const problems = [
    ...checkUserRows(type, actions).map((text) => `spec.actions: ${text}`),
    ...(['env', 'exec'] as const)
      .filter((source) => credential?.[source] !== undefined)
      .map((source) => `spec.credential.${source}: ${NOT_IN_CLUSTER}`),
  ]
  return problems.length > 0 ? refuse(problems) : { allowed: true }
}

function judgePolicy(spec: PolicySpec, isOfTenant: boolean): AdmissionResponse {
  if (isOfTenant && spec.namespaceSelector !== undefined)
    return refuse([
      'spec.namespaceSelector is for Policies in a namespace of the platform team; name Gateways in spec.gatewayRefs',
    ])
  const document = policyDocumentOf(spec)
  if (isTooLarge(document))
    return {
      allowed: true,
      warnings: [
        'The policy was admitted without validation, because it is too large for it. Check its status.',
      ],
    }
  const problems = documentProblems(document)
  if (problems.length > 0) return refuse(problems)
  const failed = runPolicyTests(document, createCatalogue().knownAction).filter(({ passed }) => !passed)
  if (failed.length > 0)
    return refuse(
      failed.map(({ name, expected, got }) => `the test "${name}" fails: expected ${expected}, got ${got}`),
    )
  return { allowed: true, warnings: policyWarnings(document) }
}

function isTooLarge(document: PolicyDocument): boolean {
  const conditions = document.rules.flatMap((rule) => rule.conditions)
  const text = conditions.reduce((sum, { length }) => sum + length, 0)
  return text > MAX_CONDITION_TEXT || policyTestCost(document) > MAX_TEST_COST
}

const MAX_PROBLEMS = 20

function refuse(problems: readonly string[]): AdmissionResponse {
  const left = problems.length - MAX_PROBLEMS
  const shown = [...problems.slice(0, MAX_PROBLEMS), ...(left > 0 ? [`and ${left} more`] : [])]
  return { allowed: false, refused: { code: 422, message: shown.join('; ') } }
}
