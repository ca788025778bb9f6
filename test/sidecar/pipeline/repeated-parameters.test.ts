import { describe, expect, it } from 'vitest'
import { expectRefused, start } from './pipeline-world.ts'

const CONDITIONS = [
  'request.query.force == "true"',
  'request.query.force != "false"',
  '"true" == request.query.force',
  'request.query.force in ["true", "1"]',
  'has(request.query.force) && request.query.force == "true"',
  '!(request.query.force == "false")',
  'request.query["force"].startsWith("t")',
  '["true"].exists(word, word == request.query.force)',
  '["true"].exists(word, request.query.force in [word])',
]
const QUERIES = [
  'force=true&force=false',
  'force=false&force=true',
  'force=false&Force=true',
  'force=false&%66orce=true',
  'force=false&+force=true',
  'force=false&force[]=true',
  'force[]=true',
  'force%5B%5D=true',
  'force[0]=true',
  'force=false;force=true',
  'force=false&x=1;force=true',
  'force=true;x',
  'force=true;',
  `force=true${'&force=false'.repeat(100)}`,
]

/** What the policy says of a read of the code host with this query. */
async function send(condition: string, query: string, decision: string) {
  const rules = [{ name: 'guard', conditions: [condition], decision }]
  const world = await start({
    permissions: [['codehost.*', 'allow']],
    policies: [{ document: { scope: {}, rules } }],
  })
  const exchange = await world.send({ method: 'GET', target: `/repos/acme/site/branches?${query}` })
  return { world, status: exchange.reply.status }
}

describe('a query parameter that is there several times', () => {
  it.each(CONDITIONS)('makes %s impossible to evaluate, so that a deny holds', async (condition) => {
    for (const query of QUERIES) {
      const { world, status } = await send(condition, query, 'deny')
      expect([query, status]).toEqual([query, 403])
      expectRefused(world)
    }
  })

  it('is a list for conditions that use a list', async () => {
    const asksForList = '"true" in request.query.force'
    expect((await send(asksForList, 'force=false&force=true', 'deny')).status).toBe(403)
    expect((await send(asksForList, 'force=false&force=no', 'deny')).status).toBe(200)
  })

  it('is one value where it is there once', async () => {
    expect((await send('request.query.force == "true"', 'force=true', 'deny')).status).toBe(403)
    expect((await send('request.query.force == "true"', 'force=false&page=2&q=a%3Bb', 'deny')).status).toBe(
      200,
    )
    expect((await send('request.query.force in ["true"]', 'force=false', 'deny')).status).toBe(200)
  })
})

describe('a field that its row declares once, where a rule depends on the body', () => {
  const FORM = ['Content-Type', 'application/x-www-form-urlencoded']
  const charge = async (query: string, body: string) => {
    const world = await start({
      connectors: [{ type: 'payments', name: 'payments', domains: ['api.stripe.com'] }],
      permissions: [['payments.*', 'allow']],
      policies: [
        {
          document: {
            scope: {},
            rules: [{ name: 'much', conditions: ['parameters.amount > 1000'], decision: 'deny' }],
          },
        },
      ],
    })
    const target = `/v1/charges${query}`
    const exchange = await world.send({ method: 'POST', host: 'api.stripe.com', target, headers: FORM, body })
    return { world, exchange }
  }

  it.each([
    ['', 'amount=1&amount=999999'],
    ['', 'amount=1&%61mount=999999'],
    ['', 'amount=1&Amount=999999'],
    ['', 'amount=1&amount[]=999999'],
    ['', 'amount=1;amount=999999'],
    ['?amount=999999', 'amount=1'],
    ['?amount=1&amount=2', ''],
  ])('is refused where it is repeated: %s %s', async (query, body) => {
    const { world, exchange } = await charge(query, body)
    expect(exchange.reply.status).toBe(400)
    expect(exchange.reply.json()).toMatchObject({ error: expect.stringContaining('mbiguous') })
    expectRefused(world)
  })

  it('passes once, beside lists in brackets', async () => {
    const body = 'amount=5&expand[]=a&expand[]=b&metadata[x]=1&metadata[y]=2&payment_method_types[]=card'
    const { world, exchange } = await charge('', body)
    expect(exchange.reply.status).toBe(200)
    expect(world.upstream.seen[0]?.body.toString()).toBe(body)
  })
})
