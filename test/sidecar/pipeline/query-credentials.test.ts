import { describe, expect, it } from 'vitest'
import { expectRefused, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules } from './test-world.ts'

const HOST = 'api.example.test'
const GENERIC = { type: 'generic' as const, domains: [HOST], auth: { type: 'bearer' as const } }
const rules = (decision: 'allow' | 'require_approval', connector: object = {}, more: Rules = {}): Rules => ({
  connectors: [{ ...GENERIC, ...connector }],
  permissions: ['generic.*', 'llm_c.*', 'chat.*'].map((pattern) => [pattern, decision] as const),
  ...more,
})
const sent = (method: string, target: string, host = HOST): TestExchangeInput => ({ method, host, target })
const denying = (condition: string): Rules => ({
  policies: [{ document: { rules: [{ name: 'r', conditions: [condition], decision: 'deny' }] } }],
})

describe('a query parameter with the name of a credential', () => {
  it.each(['/sessions?user=acme&token=abc', '/grants?access_token=gho_1', '/grants?user=a;api_key=k'])(
    'that a write would lose is refused with 400 and the remedy: DELETE %s',
    async (target) => {
      const world = await start(rules('require_approval'))
      const { reply } = await world.send(sent('DELETE', target))
      expect(reply.status).toBe(400)
      expect(Buffer.concat(reply.chunks).toString()).toMatch(/in a header.*keepQuery/)
      expect(world.holds).toEqual([])
      expectRefused(world)
    },
  )

  it('of a read is removed before anything is decided by it, shown or bound', async () => {
    const given = { ...rules('require_approval'), ...denying('has(request.query.token)') }
    const world = await start(given)
    await world.send(sent('GET', '/sessions?user=acme&token=canary'))
    expect(world.holds[0]?.path).toBe('/sessions?user=acme')
    expect(JSON.stringify([world.holds, world.records])).not.toContain('canary')
    world.apply(rules('allow'))
    expect((await world.send(sent('GET', '/sessions?user=acme&token=canary'))).reply.status).toBe(200)
    expect(world.upstream.seen.map(({ target }) => target)).toEqual(['/sessions?user=acme'])
  })

  it('that keepQuery of the Connector lists is a fact of the decision, is shown to the approver and is sent', async () => {
    const world = await start(rules('require_approval', { keepQuery: ['Token'] }))
    await world.send(sent('DELETE', '/sessions?user=acme&token=abc'))
    expect(world.holds[0]?.path).toBe('/sessions?user=acme&token=abc')
    world.apply({ ...rules('allow', { keepQuery: ['token'] }), ...denying('request.query.token == "x"') })
    expect((await world.send(sent('DELETE', '/sessions?token=x'))).reply.status).toBe(403)
    expect((await world.send(sent('DELETE', '/sessions?token=abc'))).reply.status).toBe(200)
    expect(world.upstream.seen.map(({ target }) => target)).toEqual(['/sessions?token=abc'])
  })

  it('that the API documents as its carrier is removed from writes as well', async () => {
    const host = 'generativelanguage.googleapis.com'
    const world = await start(rules('allow', { type: 'llm_c', domains: [host] }))
    const deletion = sent('DELETE', '/v1beta/files/abc?key=agents-own', host)
    expect((await world.send(deletion)).reply.status).toBe(200)
    expect(world.upstream.seen.map(({ target }) => target)).toEqual(['/v1beta/files/abc'])
  })

  it('of a request that a rule denies is refused by that rule', async () => {
    const world = await start({ ...rules('allow'), permissions: [['generic.*', 'deny']] })
    expect((await world.send(sent('DELETE', '/sessions?token=abc'))).reply.status).toBe(403)
  })

  it.each<[string, 'chat' | 'payments', string, string, string]>([
    ['a form field', 'chat', 'form', 'token=xoxb-canary&channel=C1&text=hi', 'channel=C1&text=hi'],
    [
      'a form field in capitals',
      'chat',
      'form',
      'TOKEN=xoxb-canary&channel=C1&text=hi',
      'channel=C1&text=hi',
    ],
    [
      'a form field behind a semicolon',
      'chat',
      'form',
      'channel=C1&text=hi;token=xoxb-canary',
      'channel=C1&text=hi',
    ],
    ['a list in a form', 'payments', 'form', 'amount=5&key[]=sk_canary', 'amount=5'],
    ['a form field with a capital', 'payments', 'form', 'amount=5&Key=sk_canary', 'amount=5'],
    [
      'a JSON member',
      'chat',
      'json',
      '{"channel":"C1","Token":"xoxb-canary","text":"hi"}',
      '{"channel":"C1","text":"hi"}',
    ],
  ])(
    'in the body as %s of %s is neither shown to approvers nor bound nor recorded nor sent',
    async (_spelling, type, format, body, sentBody) => {
      const host = type === 'chat' ? 'slack.com' : 'api.stripe.com'
      const target = type === 'chat' ? '/api/chat.postMessage' : '/v1/refunds'
      const mediaType = format === 'form' ? 'application/x-www-form-urlencoded' : 'application/json'
      const headers = ['Content-Type', mediaType]
      const world = await start({
        ...rules('require_approval', { type, domains: [host] }),
        permissions: [[`${type}.*`, 'require_approval']],
      })
      await world.send({ ...sent('POST', target, host), headers, body })
      await world.send({ ...sent('POST', target, host), headers, body: sentBody })
      const [withToken, without] = world.holds
      expect(JSON.stringify([world.holds, world.records])).not.toContain('canary')
      expect(withToken).toBeDefined()
      expect(withToken?.body_sha256).toBe(without?.body_sha256)
      expect(withToken?.binding).toBe(without?.binding)
      world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_1', by: null })
      await world.send({ ...sent('POST', target, host), headers, body })
      expect(world.upstream.seen.map((one) => one.body.toString())).toEqual([sentBody])
    },
  )

  it.each(['token[note]', ' token ', 'Token[]'])(
    'in a JSON body as the member %j is removed, because the card does not show it',
    async (name) => {
      const world = await start({
        ...rules('allow', { type: 'chat', domains: ['slack.com'] }),
        permissions: [['chat.*', 'allow']],
      })
      const body = JSON.stringify({ channel: 'C1', [name]: 'canary', text: 'hi' })
      const input = { ...sent('POST', '/api/chat.postMessage', 'slack.com'), body }
      await world.send({ ...input, headers: ['Content-Type', 'application/json'] })
      expect(world.upstream.seen[0]?.body.toString()).toBe('{"channel":"C1","text":"hi"}')
    },
  )

  it.each([
    ['application/x-www-form-urlencoded', 'start();\ntoken = next();\nstop();\n'],
    ['application/json', '{"token":"x","a":1}'],
  ])('is no part of an uploaded file, which is sent as it is: %s', async (type, body) => {
    const world = await start({
      ...rules('require_approval', { type: 'chat', domains: ['files.slack.com'] }),
      permissions: [['chat.*', 'require_approval']],
    })
    world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_1', by: null })
    const input = {
      ...sent('POST', '/upload/v1/T', 'files.slack.com'),
      headers: ['Content-Type', type],
      body,
    }
    await world.send(input)
    expect(world.holds).toHaveLength(1)
    expect(world.upstream.seen[0]?.body.toString()).toBe(body)
  })

  it('in the form of the chat is no part of request.body', async () => {
    const host = 'slack.com'
    const world = await start({
      ...rules('allow', { type: 'chat', domains: [host] }),
      ...denying('has(request.body.token)'),
    })
    const headers = ['Content-Type', 'application/x-www-form-urlencoded']
    const body = 'token=xoxb-own&channel=C1&text=hi'
    const input = { ...sent('POST', '/api/chat.postMessage', host), headers, body }
    expect((await world.send(input)).reply.status).toBe(200)
    expect(world.upstream.seen[0]?.body.toString()).toBe('channel=C1&text=hi')
  })
})
