import { expect, test } from 'vitest'
import { expectRefused, start } from './pipeline-world.ts'

const pay = {
  path: '/invoices/{id}/pay',
  action: 'generic.invoice.pay',
  effect: 'write',
  risk: 'high',
} as const

test.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
  '%s on the path of a declared action that is denied is refused',
  async (method) => {
    const world = await start({
      connectors: [{ type: 'generic', domains: ['erp.test'], actions: [{ method: 'POST', ...pay }] }],
      permissions: [
        ['generic.*', 'allow'],
        ['generic.invoice.pay', 'deny'],
      ],
    })
    const { reply } = await world.send({ method, host: 'erp.test', target: '/invoices/7/pay' })
    expect(reply.status).toBe(403)
    expectRefused(world)
    expect(world.records[0]?.action_type).toBe('generic.invoice.pay')
  },
)
