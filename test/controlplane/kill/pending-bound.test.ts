import { describe, expect, test } from 'vitest'
import { makeRoom, notStored } from '../../../controlplane/services/kill-room.ts'
import type { KillAnnouncement } from '../../../core/wire/kill.ts'

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
    expect(() => room(many(100), 'agent:new')).toThrow(/100 kill switches that you activated wait/)
    expect(() => room(many(5_000), 'namespace:team')).toThrow(/Activate the scope all/)
  })

  test('never refuse the scope all, one that is repeated, nor one that is waiting under its number', () => {
    expect(room(many(100), 'all')).toEqual([])
    expect(room([...many(100), announcement(100, 'all')], 'all')).toEqual(['id100'])
    expect(room(many(100), 'agent:a7')).toEqual(['id7'])
    expect(room([...many(99), announcement(99, 'agent:A7')], 'agent:a7')).toEqual(['id7', 'id99'])
    expect(room(many(100), 'agent:other', 'id3')).toEqual([])
  })
})

test('the warning counts them, and says when gateways cannot keep them all', () => {
  expect(notStored(many(1))).not.toMatch(/wait to be stored/)
  expect(notStored(many(3))).toMatch(/3 kill switches of this replica wait to be stored.*by the next replica/)
  const long = many(300).map((each) => ({ ...each, entry: { ...each.entry, reason: 'r'.repeat(1_000) } }))
  expect(notStored(long)).toMatch(/300 kill switches.*too many for gateways to keep/)
})
