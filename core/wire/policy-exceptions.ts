import * as z from 'zod'
import { PolicyCheckReply } from './policies.ts'
import { Id } from './schema/fields.ts'

export const ExceptionsParams = z.object({ id: Id })

/** `same`: the exception covers only the target of the held request; `any`: every target. */
export const ExceptionsQuery = z.strictObject({ target: z.enum(['same', 'any']).default('same') })

/**
 * Proposal of an exception in a policy that holds a request. The control plane does not store the proposal. `obstacle`:
 * reason, as a sentence, why no exception can be added to this policy.
 */
export const PolicyExceptionView = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('none'), policy: z.string(), obstacle: z.string() }),
  z.object({
    /**
     * `text`: `PATCH /api/dashboard/policies` with `policyYaml: after` and `expected_version: version` applies the
     * exception. `manifest`: a manifest defines the policy; `before` and `after` are manifests, and a user applies
     * `after`.
     */
    kind: z.enum(['text', 'manifest']),
    policy_id: z.string(),
    policy: z.string(),
    version: z.int(),
    /** Name of the rule that requires approval, and of the rule that the exception adds. */
    holding_rule: z.string(),
    rule: z.string(),
    before: z.string(),
    after: z.string(),
    /**
     * True if the control plane added a test to the policy, and the test passes. The test shows that the exception
     * covers the request.
     */
    tested: z.boolean(),
    check: PolicyCheckReply,
  }),
])

export const ExceptionsReply = z.object({
  exceptions: z.array(PolicyExceptionView),
  /**
   * True if a permission, or the default of the gateway, also requires approval, so that an exception alone has no
   * effect.
   */
  permission_requires_approval: z.boolean(),
})

export type ExceptionsParams = z.infer<typeof ExceptionsParams>
export type ExceptionsQuery = z.input<typeof ExceptionsQuery>
export type ExceptionTarget = z.output<typeof ExceptionsQuery>['target']
export type PolicyExceptionView = z.infer<typeof PolicyExceptionView>
export type ExceptionsReply = z.infer<typeof ExceptionsReply>
