import { describe, expect, it } from 'vitest'
import { expectRefused, JSON_BODY, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules } from './test-world.ts'

const denying = (condition: string): Rules => ({
  permissions: [['codehost.*', 'allow']],
  policies: [{ document: { rules: [{ name: 'r', conditions: [condition], decision: 'deny' }] } }],
})
const creation = (name: string): TestExchangeInput => ({
  method: 'POST',
  target: '/orgs/acme/repos',
  headers: JSON_BODY,
  body: JSON.stringify({ name }),
})

describe('a policy on a name or a path', () => {
  it.each(['prod', 'Prod', 'PROD', 'prod.git', 'pr\\u006fd'])(
    'denies the creation of %s, whatever the spelling',
    async (name) => {
      const world = await start(denying('parameters.name == "Prod"'))
      const body = `{"name":"${name}"}`
      const { reply } = await world.send({ ...creation(name), body })
      expect(reply.status).toBe(403)
      expectRefused(world)
      expect(world.records[0]?.action_type).toBe('codehost.repo.create')
    },
  )

  it('lets other names pass', async () => {
    const world = await start(denying('parameters.name == "Prod"'))
    expect((await world.send(creation('prod-2'))).reply.status).toBe(200)
    expect(world.upstream.seen).toHaveLength(1)
  })

  it.each([
    '/repos/acme/site/pulls/7/merge',
    '/repos/acme/site/pulls/7/m%65rge',
    '/%72epos/acme/site/pulls/7/%6derge',
  ])('denies %s, whose path is read as decoded or is unknown', async (target) => {
    const world = await start(denying('request.path.lowerAscii().endsWith("/merge")'))
    expect((await world.send({ method: 'PUT', target })).reply.status).toBe(403)
    expectRefused(world)
  })

  it('forwards an encoded path byte for byte', async () => {
    const world = await start(denying('request.path.endsWith("/merge")'))
    const target = '/repos/acme/site/labels/good%20first%3Aissue'
    expect((await world.send({ method: 'GET', target })).reply.status).toBe(200)
    expect(world.upstream.seen.map((seen) => seen.target)).toEqual([target])
  })
})
