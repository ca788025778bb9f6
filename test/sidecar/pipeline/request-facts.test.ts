import { describe, expect, it } from 'vitest'
import { expectRefused, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules } from './test-world.ts'

const denying = (condition: string, connector: object = {}): Rules => ({
  connectors: [{ type: 'generic', domains: ['api.github.com'], ...connector }],
  permissions: [['generic.*', 'allow']],
  policies: [{ document: { rules: [{ name: 'r', conditions: [condition], decision: 'deny' }] } }],
})

const sent = (headers: readonly string[], body?: string): TestExchangeInput => ({
  ...{ method: 'POST', target: '/v1/things' },
  headers,
  ...(body === undefined ? {} : { body }),
})
const JSON_TYPE = ['Content-Type', 'application/json']
const ACCOUNT = '"stripe-account" in request.headers && request.headers["stripe-account"] == "acct_2"'

async function statuses(rules: Rules, inputs: readonly TestExchangeInput[]): Promise<readonly unknown[]> {
  const world = await start(rules)
  const found: unknown[] = []
  for (const input of inputs) found.push((await world.send(input)).reply.status)
  return found
}

describe('request.headers in a condition', () => {
  it('decides each request by its own headers, although their line is the same', async () => {
    const inputs = [sent(['Stripe-Account', 'acct_1']), sent(['Stripe-Account', 'acct_2']), sent([])]
    expect(await statuses(denying(ACCOUNT), inputs)).toEqual([200, 403, 200])
  })

  it('tightens where a header is there several times, because servers take the first or the last', async () => {
    const twice = sent(['Stripe-Account', 'acct_1', 'stripe-account', 'acct_3'])
    expect(await statuses(denying(ACCOUNT), [twice])).toEqual([403])
    const listed = 'request.headers["x-scope"].exists(s, s == "admin")'
    expect(await statuses(denying(listed), [sent(['X-Scope', 'a', 'X-Scope', 'admin'])])).toEqual([403])
  })

  it('has no credentials and no header of one connection, the header of the connector included', async () => {
    const names = ['x-custom-key', 'cookie', 'connection', 'x-api-token']
    const condition = names.map((name) => `request.headers.exists(h, h == "${name}")`).join(' || ')
    const auth = { auth: { type: 'header' as const, header: 'X-Custom-Key' } }
    const headers = ['X-Custom-Key', 'a', 'Cookie', 'a=b', 'Connection', 'close', 'X-Api-Token', 't']
    expect(await statuses(denying(condition, auth), [sent(headers)])).toEqual([200])
  })

  it('names a header with an underscore as CGI-like servers read it', async () => {
    const inputs = [sent(['Stripe_Account', 'acct_2'])]
    const found = await statuses(denying(ACCOUNT), inputs)
    expect(found[0]).toBeGreaterThanOrEqual(400)
  })
})

describe('request.body in a condition', () => {
  const large = 'has(request.body.amount) && request.body.amount > 100'

  it.each([
    ['JSON', JSON_TYPE, '{"amount":500}'],
    ['a form', ['Content-Type', 'application/x-www-form-urlencoded'], 'amount=500&x=1'],
  ])('decides by members of %s, and lets others pass', async (format, type, body) => {
    const condition = format === 'JSON' ? large : 'has(request.body.amount) && request.body.amount == "500"'
    const world = await start(denying(condition))
    expect((await world.send(sent(type, body))).reply.status).toBe(403)
    expectRefused(world)
    expect((await world.send(sent(type, body.replace('500', '5')))).reply.status).toBe(200)
  })

  it('reads variables of GraphQL as the member that they are', async () => {
    const body = JSON.stringify({ query: 'query($n: Int) { a(n: $n) }', variables: { n: 500 } })
    expect(await statuses(denying('request.body.variables.n > 100'), [sent(JSON_TYPE, body)])).toEqual([403])
  })

  it.each([
    ['beyond 256 KiB', JSON_TYPE, `{"text":"${'x'.repeat(256 * 1024)}"}`],
    ['with more than 10,000 values', JSON_TYPE, `{"list":[${'1,'.repeat(10_000)}1]}`],
    ['with two members that servers may take for one', JSON_TYPE, '{"amount":1,"Amount":500}'],
    ['in another format', ['Content-Type', 'application/octet-stream'], 'amount=500'],
  ])('tightens for a body %s, behind has() too', async (_what, type, body) => {
    expect(await statuses(denying(large), [sent(type, body)])).toEqual([403])
  })

  it('is absent where there is no body', async () => {
    expect(await statuses(denying('has(request.body)'), [sent([])])).toEqual([200])
  })
})
