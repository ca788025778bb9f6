import { expect, test } from 'vitest'
import { Registry, type RegistryHandle } from '../../../sidecar/collections/registry.ts'
import fc from '../../support/fast-check.ts'

test('contains exactly the added and not removed items, in any order', () => {
  const step = fc.record({ isComing: fc.boolean(), which: fc.nat() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const roster = new Registry<number>()
      const seats = new Map<number, RegistryHandle<number>>()
      steps.forEach(({ isComing, which }, n) => {
        if (isComing) seats.set(n, roster.add(n))
        const there = [...seats]
        const leaving = there[which % Math.max(1, there.length)]
        if (isComing || leaving === undefined) return
        roster.remove(leaving[1])
        seats.delete(leaving[0])
      })
      expect(roster.size).toBe(seats.size)
      expect(roster.all().sort((a, b) => a - b)).toEqual([...seats.keys()])
    }),
  )
})

test('removing an item twice removes no other item', () => {
  const roster = new Registry<string>()
  const first = roster.add('first')
  roster.add('second')
  roster.remove(first)
  roster.remove(first)
  expect(roster.all()).toEqual(['second'])
})

test('items may be removed during iteration', () => {
  const roster = new Registry<string>()
  const seats = ['a', 'b', 'c'].map((name) => roster.add(name))
  for (const _name of roster.all()) for (const handle of seats) roster.remove(handle)
  expect(roster.size).toBe(0)
})
