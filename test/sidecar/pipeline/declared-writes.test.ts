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

const SUFFIXED = [
  '/invoices/7/pay.json',
  '/invoices/7/pay.xml',
  '/invoices/7/pay.JSON',
  '/invoices/7/pay%2Ejson',
]

test.each(SUFFIXED.flatMap((target) => ['POST', 'PUT'].map((method) => [method, target] as const)))(
  '%s %s is the declared action, because frameworks take the suffix for a format',
  async (method, target) => {
    const world = await start({
      connectors: [{ type: 'generic', domains: ['erp.test'], actions: [{ method: 'POST', ...pay }] }],
      permissions: [
        ['generic.*', 'allow'],
        ['generic.invoice.pay', 'deny'],
      ],
    })
    expect((await world.send({ method, host: 'erp.test', target })).reply.status).toBe(403)
    expectRefused(world)
    expect(world.records[0]?.action_type).toBe('generic.invoice.pay')
  },
)

test('a suffix of a value stays a part of it, and where a row fits with and without it, both have to pass', async () => {
  const file = {
    method: 'POST',
    path: '/files/{name}',
    action: 'generic.file.put',
    effect: 'write',
    risk: 'low',
  } as const
  const purge = { ...file, path: '/files/purge', action: 'generic.file.purge', risk: 'high' } as const
  const world = await start({
    connectors: [{ type: 'generic', domains: ['erp.test'], actions: [file, purge] }],
    permissions: [
      ['generic.*', 'allow'],
      ['generic.file.purge', 'deny'],
    ],
  })
  const statusOf = async (target: string) =>
    (await world.send({ method: 'POST', host: 'erp.test', target })).reply.status
  expect(await statusOf('/files/a.json')).toBe(200)
  expect(world.records[0]?.action_type).toBe('generic.file.put')
  expect(await statusOf('/files/purge.json')).toBe(403)
})
