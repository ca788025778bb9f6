import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at, caller } from '../routes/start.ts'

const DASHBOARD = '/api/dashboard/kill-switch'
let here: TestInstallation
let key: string

beforeAll(async () => {
  here = await startTestInstallation()
  const agent = { name: 'builder', runtime: 'x', environment: 'test', capabilities: ['org:kill_switch'] }
  key = at((await here.admin('POST', '/api/dashboard/agents', agent)).body, 'api_key')
  await here.admin('POST', '/api/dashboard/connectors', { type: 'codehost', token: 't' })
})
afterAll(() => here?.[Symbol.asyncDispose]())

async function activeScopes(): Promise<string[]> {
  const { body } = await here.admin('GET', DASHBOARD)
  return at<{ scope: string }[]>(body, 'effective').map(({ scope }) => scope)
}

describe('a scope that nothing bears', () => {
  test.each([
    ['agent:bilder', ['agent:builder']],
    ['agent:BUILDERS', ['agent:builder']],
    ['connector:codehots', ['connector:codehost']],
    ['gateway:locl', ['gateway:local']],
    ['gateway:other/local', ['gateway:local']],
    ['buildr', ['builder']],
    ['agent:zzzzzz', []],
    ['agent:codehost', []],
    ['connector:builder', []],
  ])(
    '%s is set all the same, as 0 of 0, with a warning and what was perhaps meant',
    async (given, nearest) => {
      const scope = given.toLowerCase()
      const on = await here.admin('POST', DASHBOARD, { active: true, scope: given, reason: 'drill' })
      expect(on.status).toBe(200)
      expect(on.body).toMatchObject({ acknowledged: { acked: 0, total: 0 }, scope })
      expect(on.body['warning']).toMatch(new RegExp(`^No agent, connector or gateway is called ${scope}`))
      expect(at<string[]>(on.body, 'nearest').slice(0, nearest.length)).toEqual(nearest.slice(0, 3))
      expect(await activeScopes()).toEqual([scope])
      const off = await here.admin('POST', DASHBOARD, { active: false, scope })
      expect(off.body).not.toHaveProperty('warning')
      expect(await activeScopes()).toEqual([])
    },
  )

  test('v1 says so too', async () => {
    const agent = caller(here.plane.url, { authorization: `Bearer ${key}` })
    const on = await agent('POST', '/api/v1/org/kill-switch', { active: true, scope: 'agent:bilder' })
    expect(on).toMatchObject({ status: 200, body: { kill_switch: true, nearest: ['agent:builder'] } })
    expect(await activeScopes()).toEqual(['agent:bilder'])
    const off = await agent('POST', '/api/v1/org/kill-switch', { active: false, scope: 'agent:bilder' })
    expect(off.body).toEqual({ kill_switch: false })
  })
})

test.each([
  'all',
  undefined,
  'agent:builder',
  'agent:Builder',
  'connector:codehost',
  'gateway:local',
  'gateway:default/local',
  'builder',
])('the scope %s is known and causes no warning', async (scope) => {
  const body = scope === undefined ? { active: true } : { active: true, scope }
  const on = await here.admin('POST', DASHBOARD, body)
  expect(on.status).toBe(200)
  expect(on.body).not.toHaveProperty('warning')
  expect(on.body).not.toHaveProperty('nearest')
  await here.admin('POST', DASHBOARD, { ...body, active: false })
})
