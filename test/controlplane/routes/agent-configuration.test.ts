import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type ConfigurationWorld,
  LOCAL_GATEWAY_TOKEN,
  startConfigurationWorld,
} from './configuration-world.ts'
import { at, caller } from './start.ts'

let world: ConfigurationWorld
beforeAll(async () => {
  world = await startConfigurationWorld()
})
afterAll(() => world?.[Symbol.asyncDispose]())

describe('the admin token', () => {
  test('is made readable for its owner alone and acts as an owner', async () => {
    expect((await stat(join(world.folder, 'admin.token'))).mode & 0o777).toBe(0o600)
    expect((await world.admin('GET', '/api/auth/me')).body).toMatchObject({
      user: { role: 'owner', via: 'admin_token' },
    })
  })
})

describe('agents', () => {
  test('get a key that is shown once, found by its prefix and stored as a hash', async () => {
    const made = await world.admin('POST', '/api/dashboard/agents', {
      name: 'builder',
      runtime: 'python',
      environment: 'production',
    })
    expect(made.status).toBe(200)
    const key = at(made.body, 'api_key')
    expect(key).toMatch(/^svc_live_[0-9A-Za-z]{43}$/)
    expect(at(made.body, 'api_key_prefix')).toBe(key.slice(0, 15))
    const list = await world.admin('GET', '/api/dashboard/agents')
    expect(list.text).not.toContain(key)
    expect(at(list.body, 'agents', 0)).toMatchObject({
      name: 'builder',
      environment: 'production',
      status: 'active',
      gateway: 'default/local',
      capabilities: [],
      metadata: {},
      source: 'api',
      api_key_prefix: key.slice(0, 15),
    })
    expect(await world.dump('agents')).not.toContain(key)
  })

  test('are given an action or fields, never both: nothing that was sent is left out in silence', async () => {
    const id = await world.newAgent('both')
    const both = { agent_id: id, action: 'suspend', name: 'other' }
    const answer = await world.admin('PATCH', '/api/dashboard/agents', both)
    expect(answer.status).toBe(400)
    expect(answer.body['details']).toBe(
      'action: cannot be combined with other fields; send the action and the other fields in separate requests',
    )
    expect(await world.eventsOf(id)).toEqual(['agent.registered'])
  })

  test('are suspended, activated and revoked for good; each is one audit event', async () => {
    const id = await world.newAgent('lifecycle')
    const act = (action: string) => world.admin('PATCH', '/api/dashboard/agents', { agent_id: id, action })
    expect((await act('suspend')).body).toMatchObject({ ok: true, agent: { status: 'suspended' } })
    expect((await act('suspend')).status).toBe(200)
    expect((await act('activate')).body).toMatchObject({ agent: { status: 'active' } })
    expect((await act('revoke')).body).toMatchObject({ agent: { status: 'revoked' } })
    expect((await act('activate')).status).toBe(409)
    expect((await act('rotate_key')).status).toBe(409)
    expect(await world.eventsOf(id)).toEqual([
      'agent.registered',
      'agent.suspended',
      'agent.activated',
      'agent.revoked',
    ])
  })

  test('are refused without required fields, with a taken name and with one that would break their key', async () => {
    const missing = await world.admin('POST', '/api/dashboard/agents', { name: 'x' })
    expect(missing.body).toMatchObject({ details: 'runtime: is required; environment: is required' })
    const fields = { runtime: 'r', environment: 'development' }
    expect((await world.admin('POST', '/api/dashboard/agents', { name: 'builder', ...fields })).status).toBe(
      409,
    )
    expect((await world.admin('POST', '/api/dashboard/agents', { name: 'a:b', ...fields })).status).toBe(400)
    expect((await world.admin('POST', '/api/dashboard/agents', { name: '*', ...fields })).status).toBe(400)
  })

  test('have names of one form wherever they are created or renamed, and the error states it', async () => {
    const name = 'bad name!'
    const agent = { name, runtime: 'r', environment: 'development' }
    const fine = { ...agent, name: 'fine name' }
    const { body } = await world.admin('POST', '/api/dashboard/agents', fine)
    const requests: ReadonlyArray<readonly ['POST' | 'PATCH', string, Readonly<Record<string, unknown>>]> = [
      ['POST', '/api/dashboard/agents', agent],
      ['PATCH', '/api/dashboard/agents', { agent_id: body['agent_id'], name }],
      ['POST', '/api/dashboard/setup', { agent, connectors: [] }],
      ['POST', '/api/dashboard/gateway', { gateway: { name: 'g' }, agent: { name, create: true } }],
    ]
    for (const [method, path, given] of requests) {
      const refused = await world.admin(method, path, given)
      expect(refused.status, path).toBe(400)
      expect(refused.body['details'], path).toContain(
        'name: can contain only letters, digits, spaces and . _ / -, and must begin and end with a letter or digit',
      )
    }
  })

  test('keep a name of another form that an older version gave, and get no other such name', async () => {
    const agent_id = await world.newAgent('older')
    await world.asAdmin(`update agents set name = 'older name!' where id = '${agent_id}'`)
    const patch = (name: string) =>
      world.admin('PATCH', '/api/dashboard/agents', { agent_id, name, runtime: 'new' })
    expect((await patch('older name!')).body).toMatchObject({
      agent: { name: 'older name!', runtime: 'new' },
    })
    expect((await patch('other name!')).status).toBe(400)
    const gateway = caller(world.plane.url, {
      ...{ authorization: `Bearer ${LOCAL_GATEWAY_TOKEN}`, 'x-process-id': 'proc_names' },
    })
    const register = async (name: string) => {
      const command = { command: 'agents.register', input: { name } }
      return (await gateway('POST', '/api/gateway/commands', command)).body
    }
    expect(await register('older name!')).toMatchObject({ status: 200, body: { agent: { agent_id } } })
    for (const name of ['bad name!', '*', 'a:b'])
      expect(await register(name)).toMatchObject({
        status: 400,
        body: { details: expect.stringContaining('name: can contain only letters') },
      })
  })
})
