import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { makeRoom, notStored } from '../../../controlplane/features/kill-switch/capacity.ts'
import type { KillAnnouncement } from '../../../core/wire/gateway/kill.ts'
import { eventually } from '../../support/eventually.ts'
import { person, startWorld } from '../sync/harness.ts'

const announcement = (n: number, scope = `agent:a${n}`): KillAnnouncement => ({
  ...{
    id: `id${n}`,
    proof: 'p',
    entry: { scope, source: 'api', reason: 'x', since: new Date(0).toISOString() },
  },
})
const many = (count: number) => Array.from({ length: count }, (_, n) => announcement(n))

function room(pending: readonly KillAnnouncement[], scope: string, own?: string) {
  const retracted: string[] = []
  makeRoom({ retract: (ids) => void retracted.push(...ids) }, pending, { scope, own })
  return retracted
}

describe('kill switches of one caller that wait for the database', () => {
  test('are at most 100, and the refusal says how many are in force', () => {
    expect(room(many(99), 'agent:new')).toEqual([])
    expect(() => room(many(100), 'agent:new')).toThrow(
      /100 kill switches, the maximum, are already in force without being stored/,
    )
    expect(() => room(many(5_000), 'namespace:team')).toThrow(/activate a kill switch with the scope all/)
  })

  test('never refuse the scope all, one that is repeated, nor one that is waiting under its number', () => {
    expect(room(many(100), 'all')).toEqual([])
    expect(room([...many(100), announcement(100, 'all')], 'all')).toEqual(['id100'])
    expect(room(many(100), 'agent:a7')).toEqual(['id7'])
    expect(room([...many(99), announcement(99, 'agent:A7')], 'agent:a7')).toEqual(['id7', 'id99'])
    expect(room(many(100), 'agent:other', 'id3')).toEqual([])
  })
})

test('the warning counts them, and says whether gateways keep this one', () => {
  expect(notStored(many(1), 'id0')).not.toMatch(/are not stored yet/)
  expect(notStored(many(3), 'id1')).toMatch(
    /3 kill switches of this replica are not stored yet.*the next replica to which/,
  )
  const long = many(300).map((each) => ({ ...each, entry: { ...each.entry, reason: 'r'.repeat(1_000) } }))
  expect(notStored(long, 'id299')).toMatch(/300 kill switches.*not among them, .*lost.*scope all/)
  expect(notStored([...long, announcement(300)], 'id300')).toMatch(/the next replica to which/)
  expect(notStored([...long, announcement(300, 'all')], 'id300')).toMatch(/the next replica to which/)
})

test('over the API, while the database hangs, one caller has 100 and others go on; all are stored afterwards', async () => {
  const world = await startWorld()
  const locker = new pg.Client({ connectionString: world.database.adminUrl })
  await locker.connect()
  try {
    const replica = await world.replica({ waits: { answerMs: 10, settledMs: 10 } })
    const [ann, bob] = [
      person({ role: 'admin', email: 'ann@example.com' }),
      person({ role: 'admin', email: 'bob@example.com' }),
    ]
    const activate = (who: typeof ann, scope: string) =>
      replica.user(who, 'POST', '/api/dashboard/kill-switch', { active: true, scope, reason: 'r' })
    await locker.query('begin; lock table kill_switches in access exclusive mode')
    for (let n = 0; n < 100; n++) expect((await activate(ann, `agent:a${n}`)).status).toBe(200)
    const refused = await activate(ann, 'agent:late')
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      503,
      expect.stringContaining('100 kill switches'),
    ])
    const others = [
      await activate(ann, 'all'),
      await activate(ann, 'all'),
      await activate(ann, 'agent:A5'),
      await activate(bob, 'agent:late'),
    ]
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(others[3]?.body['warning']).toMatch(/102 kill switches of this replica are not stored yet/)
    expect(replica.hub.kill.announced()).toHaveLength(102)
    await locker.query('rollback')
    const stored = async () => {
      const { rows } = await replica.db.query<{ scope: string }>('select scope from kill_switches', [])
      return new Set(rows.map(({ scope }) => scope)).size
    }
    await eventually('all are stored', async () => (await stored()) === 102)
    await eventually('none is waiting', () => replica.hub.kill.announced().length === 0)
    expect(replica.hub.kill.effective()).toHaveLength(102)
  } finally {
    await locker.end()
    await world.stop()
  }
})
