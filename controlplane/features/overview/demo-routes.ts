import { DemoBody, DemoReply } from '../../../core/wire/overview.ts'
import { type Route, route } from '../../http/route.ts'
import { actorOf } from '../audit/actor.ts'
import type { Demo } from './demo.ts'

export function createDemoRoutes({ demo }: { readonly demo: Demo }): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/dashboard/demo-action',
      auth: 'session',
      summary: 'Submits an example: 0 safe, 1 risky, 2 destructive; without scenario any of them',
      body: DemoBody,
      statuses: [429],
      response: DemoReply,
      handler: async ({ body, principal }) => ({
        ok: true as const,
        ...(await demo(actorOf(principal), body.scenario ?? null)),
      }),
    }),
  ]
}
