import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStream, type Replica, startWorld, type World } from '../../controlplane/sync/harness.ts'

let world: World
let replica: Replica
beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
})
afterAll(() => world.stop())

const kill = async (body: object) => {
  const whole = { source: 'manifest:team/prod', scopes: [], reason: '', by: 'test', ...body }
  return replica.operator('POST', '/api/operator/kill', whole)
}
const killSwitches = () =>
  replica.hub.kill.effective().map(({ source, scope, reason }) => ({ source, scope, reason }))

test('a relayed kill switch is in force for its Gateway only, and an older revision does not lift it', async () => {
  const stream = await openStream(replica, await replica.enrol('team/prod'), { acks: true })
  const reply = await kill({ scopes: ['all', 'agent:x'], reason: 'why', revision: 5 })
  expect([reply.status, reply.body]).toMatchObject([
    200,
    { applied: true, acknowledged: { acked: 1, total: 1 } },
  ])
  const active = [
    { source: 'manifest:team/prod', scope: 'agent:x', reason: 'why' },
    { source: 'manifest:team/prod', scope: 'gateway:team/prod', reason: 'why' },
  ]
  expect(killSwitches()).toEqual(active)
  expect((await kill({ revision: 4 })).body).toMatchObject({ applied: false })
  expect(killSwitches()).toEqual(active)
  expect((await kill({ scopes: ['all'], reason: 'other', revision: 6 })).body).toMatchObject({
    applied: true,
  })
  expect(killSwitches()).toEqual([
    { source: 'manifest:team/prod', scope: 'gateway:team/prod', reason: 'other' },
  ])
  await kill({ revision: 7 })
  expect(killSwitches()).toEqual([])
  stream.close()
})

test('a delayed push of a Gateway does not lift a relayed kill switch', async () => {
  await kill({ scopes: ['all'], reason: 'why', revision: 10 })
  const resource = {
    ...{ apiVersion: 'chaperone.dev/v1alpha1', kind: 'Gateway' },
    ...{ metadata: { name: 'prod', namespace: 'team' }, spec: { killSwitch: { active: false } } },
  }
  const body = { uid: 'u', generation: 1, source: 'kubernetes', managed_by: 'test', resource }
  expect(await replica.operator('PUT', '/api/operator/objects/Gateway/team/prod', body)).toMatchObject({
    ...{ status: 200, body: { accepted: true, gateways: ['team/prod'], problem: null } },
  })
  expect(killSwitches()).toHaveLength(1)
  await kill({ revision: 11 })
  expect(killSwitches()).toEqual([])
})

test.each([
  [{ source: 'api', revision: 1 }, 'source'],
  [{ source: 'manifest:prod', revision: 1 }, 'source'],
  [{ scopes: ['team:x y'], revision: 99 }, 'scope'],
  [{ revision: -1 }, 'revision'],
])('an invalid kill switch is refused, and the message names the field: %j', async (body, field) => {
  const { status, body: answer } = await kill(body)
  expect([status, JSON.stringify(answer)]).toEqual([400, expect.stringContaining(field)])
  expect(killSwitches()).toEqual([])
})
