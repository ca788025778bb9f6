import * as z from 'zod'
import { ActionSpec } from '../../../core/action/spec.ts'
import { DryRunReply } from '../../../core/wire/v1.ts'
import { type Route, route } from '../../http/route.ts'
import type { DryRun } from './dry-run.ts'

const MAX_SPEC = 8_000

const Query = z.strictObject({
  agent: z.string().min(1).max(253),
  /** As JSON: a question that changes nothing is a GET, and its address can be shared. */
  action_spec: z
    .string()
    .max(MAX_SPEC)
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text)
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        context.addIssue({ code: 'custom', message: `is no JSON: ${error.message}` })
        return z.NEVER
      }
    })
    .pipe(ActionSpec),
})

export function createDryRunRoutes({ dryRun }: { readonly dryRun: DryRun }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/dry-run',
      auth: 'explanations/get',
      isNamespaced: true,
      summary: 'What would be decided about an action spec of an agent, with the trace; nothing is stored',
      query: Query,
      statuses: [404],
      response: DryRunReply,
      handler: async ({ namespaces, query }) => dryRun(namespaces, query.agent, query.action_spec),
    }),
  ]
}
