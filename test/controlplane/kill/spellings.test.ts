import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Enrolled, person, type Replica, startWorld, type World } from '../sync/harness.ts'

/* One scope in other letters, blanks and forms: it is one kill switch, and one lift ends it. */
let world: World
let replica: Replica
let gateway: Enrolled
const admin = person({ role: 'admin', email: 'root@example.com' })

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  gateway = await replica.enrol('default/local')
})
afterAll(() => world.stop())
beforeEach(() => replica.db.query('delete from kill_switches'))

const set = (active: boolean, scope: string, reason = 'incident') =>
  replica.user(admin, 'POST', '/api/dashboard/kill-switch', { active, scope, ...(active && { reason }) })
const stored = async () =>
  (await replica.db.query('select scope, source from kill_switches order by 1, 2')).rows

const SPELLINGS = ['agent:Team/Bot', 'AGENT:team/bot', ' agent: TEAM/BOT ', 'Agent:tEAM/bOT']
const OTHERS = ['ALL', ' all ', 'connector:GitHub', 'gateway:Default/Local', 'namespace:TEAM', 'CodeHost']

describe.each([...SPELLINGS, ...OTHERS])('a kill switch set as %j', (spelling) => {
  test.each([spelling, spelling.toLowerCase(), spelling.toUpperCase(), `  ${spelling}\t`])(
    'is lifted as %j, and the answer names its source',
    async (lift) => {
      await set(true, spelling)
      // On a busy machine the answer may come before the database has stored it.
      await eventually('it is stored', async () => ((await stored()).length === 1 ? true : null))
      const { status, body } = await set(false, lift)
      expect([status, body['released'], body['effective']]).toEqual([200, ['dashboard'], []])
      expect(await stored()).toEqual([])
    },
  )
})

test('spellings of one scope are one kill switch of a source', async () => {
  for (const scope of SPELLINGS) await set(true, scope)
  expect(await stored()).toEqual([{ scope: 'agent:team/bot', source: 'dashboard' }])
  expect(replica.hub.kill.effective()).toHaveLength(1)
})

test('a lift names every source that it releases, and none where nothing was set', async () => {
  await set(true, 'agent:bot')
  await replica.command(gateway, 'kill-switch', {
    active: true,
    scope: 'agent:BOT',
    reason: 'by the gateway',
  })
  const { body } = await set(false, 'AGENT:Bot')
  expect([...(body['released'] as string[])].sort()).toEqual(['dashboard', 'gateway:default/local'])
  expect((await set(false, 'agent:bot')).body['released']).toEqual([])
  expect((await set(true, 'agent:bot')).body).not.toHaveProperty('released')
})

test('a row that another version stored in capitals is lifted, too', async () => {
  await replica.db.query(
    `insert into kill_switches (org_id, scope, source, reason, activated_by)
     select id, 'agent:Bot', 'cli', 'old', 'x' from orgs`,
  )
  await replica.hub.kill.refresh()
  const { body } = await set(false, 'agent:bot')
  expect([body['released'], body['effective']]).toEqual([['cli'], []])
})
