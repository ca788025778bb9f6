import * as z from 'zod'
import { DecisionView } from '../../../core/wire/v1.ts'
import { actorOf } from '../../events.ts'
import { Ok } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { Demo } from './demo.ts'

export function createDemoRoutes({ demo }: { readonly demo: Demo }): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/dashboard/demo-action',
      auth: 'session',
      summary: 'Submits an example: 0 safe, 1 risky, 2 destructive; without scenario any of them',
      body: z.strictObject({ scenario: z.literal([0, 1, 2], { error: 'must be 0, 1 or 2' }).optional() }),
      statuses: [429],
      response: Ok.extend({ scenario: z.string(), action_request_id: z.string(), decision: DecisionView }),
      handler: async ({ body, principal }) => ({
        ok: true,
        ...(await demo(actorOf(principal), body.scenario ?? null)),
      }),
    }),
  ]
}
