import * as z from 'zod'
import { ActionSpec } from '../action/spec.ts'
import { RecordWhySchema } from '../record.ts'

export const ExplainQuery = z.strictObject({
  method: z.string().min(1).max(32),
  url: z.string().min(1).max(8_000),
  agent: z.string().min(1).max(253),
  gateway: z.string().min(1).max(253).optional(),
  /** Header fields as lines `Name: value`. */
  headers: z.string().max(8_000).optional(),
})
export const ExplainReply = z.object({
  /** Text that `chaperone explain` prints. */
  text: z.string(),
  /** Name of the connector; null if no connector owns the host of the request. */
  connector: z.string().nullable(),
  action: z.looseObject({ type: z.string() }).nullable(),
  decision: z.looseObject({
    verdict: z.enum(['allow', 'hold', 'deny']),
    source: RecordWhySchema.shape.source,
    reason: z.string(),
    riskScore: z.number(),
    riskFactors: z.array(z.string()),
  }),
  snapshot_version: z.number(),
  /** False if the gateway serves no agent with this name. Only rules that apply to every agent are then evaluated. */
  agent_known: z.boolean(),
})

const MAX_SPEC = 8_000

export const DryRunQuery = z.strictObject({
  agent: z.string().min(1).max(253),
  /**
   * Action spec as JSON text in the query. A dry run changes nothing, so it is a GET request, whose URL users can
   * share.
   */
  action_spec: z
    .string()
    .max(MAX_SPEC)
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text)
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        context.addIssue({ code: 'custom', message: `is not valid JSON: ${error.message}` })
        return z.NEVER
      }
    })
    .pipe(ActionSpec),
})

export type ExplainQuery = z.input<typeof ExplainQuery>
export type ExplainReply = z.infer<typeof ExplainReply>
export type DryRunQuery = z.input<typeof DryRunQuery>
