import { describe, expect, it } from 'vitest'
import { expectRefused, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules } from './test-world.ts'

const HOST = 'api.example.test'
const rules = (decision: 'allow' | 'require_approval', connector: object = {}): Rules => ({
  connectors: [{ type: 'generic', domains: [HOST], auth: { type: 'bearer' }, ...connector }],
  permissions: [['generic.*', decision]],
})

function sent(...headers: string[]): TestExchangeInput {
  return { method: 'POST', host: HOST, target: '/v1/things', headers }
}

describe('headers that choose an account or an operation', () => {
  it.each([
    ...['Stripe-Account', 'Stripe-Context', 'X-Goog-User-Project', 'OpenAI-Project', 'OpenAI-Organization'],
    ...['X-Amz-Target', 'SOAPAction'],
  ])('%s is on the card, and refused in the spelling that CGI-like servers take for it', async (name) => {
    const world = await start(rules('require_approval'))
    await world.send(sent(name, 'secret_token_42'))
    expect(world.holds[0]?.headers).toEqual([{ name: name.toLowerCase(), value: 'secret_token_42' }])
    if (!name.includes('-')) return
    expect((await world.send(sent(name.replaceAll('-', '_'), 'x'))).reply.status).toBe(400)
  })
})

describe('headers that rewrite path or method', () => {
  it.each([
    ...[
      'X-Forwarded-Uri',
      'X-Forwarded-Path',
      'X-Forwarded-Prefix',
      'X-Envoy-Original-Path',
      'X-Original-Path',
    ],
    ...[
      'X-Rewrite-Path',
      'X-Rewrite-Uri',
      'X-Request-Uri',
      'X-Replaced-Path',
      'X_Forwarded_Uri',
      'X-Script-Name',
    ],
    ...['X-Forwarded-Method', 'X-Envoy-Original-Method'],
  ])('%s is refused with 400, and nothing is forwarded', async (name) => {
    const world = await start(rules('allow'))
    expect((await world.send(sent(name, '/admin'))).reply.status).toBe(400)
    expectRefused(world)
  })
})

describe('headers with which a request acts as another account', () => {
  const NAMES = [
    ...['Impersonate-User', 'Impersonate-Group', 'Impersonate-Uid', 'Impersonate-Extra-Scopes', 'Sudo'],
    ...['X-Forwarded-User', 'X-Forwarded-Email', 'X-Remote-User', 'X-Auth-Request-User', 'X_Forwarded_User'],
    ...['X-WEBAUTH-USER', 'X-Remote-Extra-Scopes', 'Remote-User', 'X-Forwarded-Client-Cert'],
  ]

  it.each(NAMES)('%s is refused with 400 and the remedy, and nothing is forwarded', async (name) => {
    const world = await start(rules('allow'))
    const { reply } = await world.send(sent(name, 'root'))
    expect(reply.status).toBe(400)
    expect(Buffer.concat(reply.chunks).toString()).toContain('impersonationHeaders')
    expectRefused(world)
  })

  it('pass where the Connector lists them, and are on the card', async () => {
    const listed = { impersonationHeaders: ['Impersonate-User', 'sudo'] }
    const world = await start(rules('allow', listed))
    expect((await world.send(sent('Impersonate-User', 'ann', 'Sudo', '7'))).reply.status).toBe(200)
    expect((await world.send(sent('Impersonate-Group', 'admins'))).reply.status).toBe(400)
    world.apply(rules('require_approval', listed))
    await world.send(sent('Impersonate-User', 'ann'))
    expect(world.holds[0]?.headers).toEqual([{ name: 'impersonate-user', value: 'ann' }])
  })
})
