import * as z from 'zod'
import { Id } from './fields.ts'
import { PolicyCheckReply } from './policies.ts'

export const ExceptionsParams = z.object({ id: Id })

/** `same`: the exception is only for the target of the held request. */
export const ExceptionsQuery = z.strictObject({ target: z.enum(['same', 'any']).default('same') })

/**
 * Exception in a policy that holds a request. Nothing is stored. `obstacle`: reason why this policy can have no exception, as a
 * sentence.
 */
export const PolicyExceptionView = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('none'), policy: z.string(), obstacle: z.string() }),
  z.object({
    /**
     * `text`: `PATCH /api/dashboard/policies` with `policyYaml: after` and `expected_version: version` applies the exception.
     * `manifest`: the policy is the object of a manifest; `before` and `after` are manifests, and a user applies `after`.
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
    /** True if the policy got a test that shows that the exception covers the request, and that passes. */
    tested: z.boolean(),
    check: PolicyCheckReply,
  }),
])

export const ExceptionsReply = z.object({
  exceptions: z.array(PolicyExceptionView),
  /** True if a permission, or the default of the gateway, also requires approval, so that an exception alone has no effect. */
  permission_requires_approval: z.boolean(),
})

export type ExceptionsParams = z.infer<typeof ExceptionsParams>
export type ExceptionsQuery = z.input<typeof ExceptionsQuery>
export type ExceptionTarget = z.output<typeof ExceptionsQuery>['target']
export type PolicyExceptionView = z.infer<typeof PolicyExceptionView>
export type ExceptionsReply = z.infer<typeof ExceptionsReply>
