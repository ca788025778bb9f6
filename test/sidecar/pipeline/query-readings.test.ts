import { describe, expect, it } from 'vitest'
import { expectRefused, start } from './pipeline-world.ts'

const world = (condition: string) =>
  start({
    connectors: [{ type: 'generic', domains: ['api.example.test'] }],
    permissions: [['generic.*', 'allow']],
    policies: [
      {
        id: 'pol_dry',
        document: {
          scope: { actions: ['generic.*'] },
          rules: [
            { name: 'dry', conditions: [condition], decision: 'allow' },
            { name: 'rest', decision: 'deny' },
          ],
        },
      },
    ],
  })

const send = async (condition: string, query: string) => {
  const here = await world(condition)
  const { reply } = await here.send({ method: 'GET', host: 'api.example.test', target: `/things?${query}` })
  return { here, reply }
}

/** Conditions that allow what a parameter makes harmless. */
const PRESENT = 'has(request.query.dry_run)'
const CONDITIONS = [
  PRESENT,
  '"dry_run" in request.query',
  'request.query.exists(name, name == "dry_run")',
  'has(request.query.dry_run) && has(request.query.dry_run)',
  'has(request.query.dry_run) ? true : false',
  '!(!has(request.query.dry_run))',
  'has(request.query.dry_run) && "1" in request.query.dry_run',
]

/** Only some servers find the parameter there. */
const SOME_SERVERS = [
  'y;dry_run',
  'y;dry_run=1',
  'dry_run;y',
  'a=1;dry_run=1&b=2',
  ';dry_run=1',
  ';;dry_run=1',
  'dry_run;',
  'dry_run;=1',
  'x=1;+dry_run=1',
  '+dry_run=1',
  '%20dry_run=1',
  '%09dry_run=1',
  'dry_run[]=1',
  'dry_run%5B%5D=1',
  'dry_run[a]=1',
  'dry_run[=1',
  'y;dry_run[]=1',
  'y=;dry_run=',
]

describe('a query parameter that only some parsers find', () => {
  it.each(SOME_SERVERS)('never allows: %s', async (query) => {
    for (const condition of CONDITIONS) {
      const { here, reply } = await send(condition, query)
      expect(reply.status, condition).toBe(403)
      expectRefused(here)
      expect(here.records[0]).toMatchObject({ decision: 'DENY', reason: 'policy' })
    }
  })

  it.each(SOME_SERVERS)('denies as well: %s', async (query) => {
    const { here, reply } = await send(`!${PRESENT}`, query)
    expect(reply.status).toBe(403)
    expectRefused(here)
  })

  it('is looked for among the values that all servers find', async () => {
    const { here, reply } = await send('"1" in request.query.mode', 'mode=0&mode=2&y;mode=1')
    expect(reply.status).toBe(403)
    expectRefused(here)
  })

  it('says why', async () => {
    const { reply } = await send(PRESENT, 'y;dry_run')
    expect(reply.text()).toContain('Servers differ in how they read the query')
  })
})

describe('a query parameter that every parser finds', () => {
  it.each([
    'dry_run',
    'dry_run=',
    'dry_run=1',
    'a=1&dry_run=1',
    'dry_run=1&dry_run=2',
    'a=x;y&dry_run=1',
    'dry_run=1;y',
  ])('is there: %s', async (query) => {
    const { here, reply } = await send(PRESENT, query)
    expect(reply.status, reply.text()).toBe(200)
    expect(here.upstream.seen).toHaveLength(1)
  })

  it.each(['a=1', 'a=dry_run', 'a=x;y', ''])('is not there: %s', async (query) => {
    const { here, reply } = await send(`!${PRESENT}`, query)
    expect(reply.status, reply.text()).toBe(200)
    expect(here.upstream.seen).toHaveLength(1)
  })
})

describe('brackets in queries of an API that documents them', () => {
  const sent = async (condition: string, query: string) => {
    const here = await start({
      connectors: [{ type: 'payments', domains: ['api.stripe.com'] }],
      permissions: [['payments.*', 'allow']],
      policies: [
        {
          id: 'pol_expand',
          document: {
            scope: { actions: ['payments.*'] },
            rules: [
              { name: 'known', conditions: [condition], decision: 'allow' },
              { name: 'rest', decision: 'deny' },
            ],
          },
        },
      ],
    })
    const target = `/v1/charges?${query}`
    const { reply } = await here.send({ method: 'GET', host: 'api.stripe.com', target })
    return { here, reply }
  }

  it.each([
    ['"data.customer" in request.query.expand', 'expand[]=data.customer'],
    ['"data.customer" in request.query.expand', 'expand[0]=data.customer&expand[1]=data.refunds'],
    ['"data.customer" in request.query.expand', 'expand%5B%5D=data.customer'],
    ['has(request.query.created)', 'created[gte]=1700000000&limit=3'],
    ['request.query.expand.exists(e, e == "data.customer")', 'limit=3&expand[]=data.customer'],
  ])('are the list of their name: %s with %s', async (condition, query) => {
    const { here, reply } = await sent(condition, query)
    expect(reply.status, reply.text()).toBe(200)
    expect(here.upstream.seen).toHaveLength(1)
  })

  it.each([
    ['"data.customer" in request.query.expand', 'y;expand[]=data.customer'],
    ['has(request.query.created)', '+created[gte]=1'],
    ['has(request.query.created)', 'x=1;created[gte]=1'],
    ['has(request.query.created)', '[created]=1'],
    ['"a" in request.query.expand', 'expand[]=b;expand[]=a'],
  ])('allow nothing where only some servers find them: %s with %s', async (condition, query) => {
    const { here, reply } = await sent(condition, query)
    expect([400, 403]).toContain(reply.status)
    expectRefused(here)
  })
})
