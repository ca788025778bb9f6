import * as z from 'zod'
import { PolicyRecord } from '../crd/policy/policy-spec.ts'
import { PROBLEM_CODES } from '../problem.ts'
import { ManagedFields } from './operator/origin.ts'
import { Id, Ok, PolicyName, PolicyText } from './schema/fields.ts'
import { LIMITS } from './schema/limits.ts'
import { PoliciesReply } from './v1.ts'

const Priority = PolicyRecord.shape.priority.unwrap()
const Tags = PolicyRecord.shape.tags.unwrap()
const Mode = PolicyRecord.shape.mode.unwrap()

const PolicyFields = z.strictObject({
  name: PolicyName,
  description: z.string().max(2_000),
  policyYaml: PolicyText,
  enabled: z.boolean(),
  priority: Priority,
  tags: Tags,
  mode: Mode,
})
const { name, policyYaml, ...optionalFields } = PolicyFields.shape

export const PolicyTestResult = z.object({
  name: z.string(),
  passed: z.boolean(),
  failure: z.string().optional(),
})

/** Policy as the API returns it to agents (spec 2.6). */
export const PolicySummary = PoliciesReply.shape.policies.element

/** Policy as the API returns it to administrators. */
export const PolicyDetails = PolicySummary.extend({
  mode: z.enum(['enforce', 'monitor']),
  policyYaml: z.string(),
  version: z.int(),
  /** True if the latest version is active; false if its tests failed and an earlier version stays active. */
  active: z.boolean(),
  active_version: z.int().nullable(),
  tests: z.array(PolicyTestResult),
  ...ManagedFields,
  updated_at: z.string(),
  /**
   * Reasons why conditions of the active text do not compile. A rule with such a condition can only make decisions
   * stricter. For a manifest that was never active: reasons why everything in its scope is denied. Absent if there are
   * no problems.
   */
  problems: z.array(z.string()).optional(),
})

export const PolicyList = z.object({ policies: z.array(PolicyDetails) })
export const CreatePolicyBody = z.strictObject({
  name,
  policyYaml,
  ...z.strictObject(optionalFields).partial().shape,
})
export const PatchPolicyBody = z
  .strictObject({
    policy_id: Id,
    expected_version: z.int().min(1).optional(),
    ...PolicyFields.partial().shape,
  })
  .refine(({ policy_id: _id, expected_version: _version, ...fields }) => Object.keys(fields).length > 0, {
    path: ['policyYaml'],
    message: 'requires a field to change',
  })
export const RemovePolicyQuery = z.strictObject({ policy_id: Id })
export const SavedPolicy = Ok.extend({
  policy_id: z.string(),
  version: z.number(),
  /** False if the tests of the stored text fail. The version that was active before the request then stays active. */
  active: z.boolean(),
  tests: z.array(PolicyTestResult),
  warnings: z.array(z.string()),
})

/** Body of a policy check. A field that `policyYaml` also contains must have the same value there. */
export const PolicyCheckBody = z.strictObject({
  policyYaml: PolicyText,
  name: PolicyName.optional(),
  enabled: z.boolean().optional(),
  priority: Priority.optional(),
  tags: Tags.optional(),
  mode: Mode.optional(),
  /** Namespace of the manifest. RBAC of this namespace determines the members of the approver groups. */
  namespace: z.string().max(63).optional(),
})

export const PolicyProblem = z.object({
  code: z.enum(PROBLEM_CODES),
  /** Path of the field, such as `rules[0].decision`; null for a problem of the whole text. */
  field: z.string().nullable(),
  /** Line of `policyYaml`, counted from 1; null for a problem without a line. */
  line: z.int().nullable(),
  message: z.string(),
})

export const PolicyCheckReply = z.object({
  /** True if the text has no problems and its tests pass. */
  ok: z.boolean(),
  problems: z.array(PolicyProblem),
  tests: z.array(PolicyTestResult),
  warnings: z.array(z.string()),
})

export const ReplayBody = z.strictObject({
  policyYaml: PolicyText,
  policy_id: Id.optional(),
  enabled: z.boolean().default(true),
  priority: Priority.default(100),
  mode: Mode.default('enforce'),
  limit: z.int().min(1).max(LIMITS.listMax).default(200),
})

const Verdict = z.enum(['ALLOW', 'HOLD', 'DENY'])
/**
 * Decision about a replayed record. `would` is the decision under full enforcement. `decision` may be less strict,
 * because of the enforcement level or because a policy is in monitor mode.
 */
const Replayed = z.object({ decision: Verdict, would: Verdict, reason: z.string() })

export const ReplayReply = z.object({
  /** Number of replayed records. The replay uses the latest records. */
  considered: z.int(),
  /** Number of records that were not replayed, because their agent or connector does not exist any more. */
  skipped: z.int(),
  changes: z.array(
    z.object({
      record_id: z.string(),
      time: z.string(),
      agent: z.string(),
      action_type: z.string(),
      request: z.string(),
      /** Decision under the currently active policies. */
      before: Replayed,
      /** Decision if the given text replaced the active text. */
      after: Replayed,
    }),
  ),
})

export const PolicyVersionsParams = z.object({ policy_id: Id })
export const PolicyVersionsReply = z.object({
  policy_id: z.string(),
  /** Versions of the policy, the latest first. */
  versions: z.array(
    z.object({
      version: z.int(),
      policyYaml: z.string(),
      /** True if the tests of the version passed, so that the version became active. */
      passed: z.boolean(),
      created_at: z.string(),
    }),
  ),
})

/**
 * Manifest that a user must commit, in an installation whose objects are edited as YAML. It is the body of the 409
 * response to an edit.
 */
export const ManifestEdit = z.object({
  /** YAML documents to commit; empty if the edit only removes objects. */
  manifest: z.string(),
  removed: z.array(z.object({ kind: z.string(), namespace: z.string(), name: z.string() })),
  /** Test results of each edited policy. */
  tests: z.array(z.object({ policy: z.string(), tests: z.array(PolicyTestResult) })),
  /** Decisions of recent requests that the edit would change; null if the replay failed. */
  replay: ReplayReply.nullable(),
})

export type PolicyFields = z.infer<typeof PolicyFields>
export type PolicyTestResult = z.infer<typeof PolicyTestResult>
export type PolicySummary = z.infer<typeof PolicySummary>
export type PolicyDetails = z.infer<typeof PolicyDetails>
export type PolicyList = z.infer<typeof PolicyList>
export type CreatePolicyBody = z.input<typeof CreatePolicyBody>
export type PatchPolicyBody = z.input<typeof PatchPolicyBody>
export type RemovePolicyQuery = z.input<typeof RemovePolicyQuery>
export type SavedPolicy = z.infer<typeof SavedPolicy>
export type PolicyCheckBody = z.input<typeof PolicyCheckBody>
export type PolicyProblem = z.infer<typeof PolicyProblem>
export type PolicyCheckReply = z.infer<typeof PolicyCheckReply>
export type ReplayBody = z.input<typeof ReplayBody>
export type ReplayReply = z.infer<typeof ReplayReply>
export type PolicyVersionsParams = z.infer<typeof PolicyVersionsParams>
export type PolicyVersionsReply = z.infer<typeof PolicyVersionsReply>
export type ManifestEdit = z.infer<typeof ManifestEdit>
