import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { satisfiedBy } from '../../../core/state/approver-answers.ts'

const sets = (...flags: boolean[]) => flags.map((distinct) => ({ distinct }))

describe('answers and the sets of groups that they satisfy', () => {
  test.each([
    { name: 'nothing is required', required: sets(), answers: [[]], want: [] },
    { name: 'nobody answered', required: sets(false, false), answers: [], want: [null, null] },
    {
      name: 'one person counts for both groups',
      required: sets(false, false),
      answers: [[0, 1]],
      want: [0, 0],
    },
    { name: 'one of two answered', required: sets(false, false), answers: [[1]], want: [null, 0] },
    { name: 'two approvers', required: sets(false, false), answers: [[1], [0]], want: [1, 0] },
    {
      name: 'distinct: one person counts once',
      required: sets(true, false),
      answers: [[0, 1]],
      want: [0, null],
    },
    {
      name: 'distinct on the last rule counts for all',
      required: sets(false, true),
      answers: [[0, 1]],
      want: [0, null],
    },
    {
      name: 'distinct: an earlier answer moves',
      required: sets(true, true),
      answers: [[0, 1], [0]],
      want: [1, 0],
    },
    {
      name: 'distinct: a chain of moves',
      required: sets(true, true, true),
      answers: [[0, 1], [0, 2], [0]],
      want: [2, 0, 1],
    },
    {
      name: 'distinct: two of one group do not stand for the other',
      required: sets(true, true),
      answers: [[0], [0]],
      want: [0, null],
    },
    { name: 'a set that does not exist', required: sets(true), answers: [[7]], want: [null] },
  ])('$name', ({ required, answers, want }) => {
    expect(satisfiedBy(required, answers)).toEqual(want)
  })

  test('with distinct the order never matters, and the number of satisfied sets is the largest possible', () => {
    const answer = fc.uniqueArray(fc.nat(4), { maxLength: 5 })
    fc.assert(
      fc.property(fc.array(answer, { maxLength: 6 }), fc.integer({ min: 1, max: 5 }), (answers, size) => {
        const required = Array.from({ length: size }, () => ({ distinct: true }))
        const result = satisfiedBy(required, answers)
        const used = result.filter((one) => one !== null)
        expect(new Set(used).size).toBe(used.length)
        result.forEach((one, set) => {
          if (one !== null) expect(answers[one]).toContain(set)
        })
        expect(used.length).toBe(largest(size, answers))
        const reversed = satisfiedBy(required, answers.toReversed())
        expect(reversed.filter((one) => one !== null)).toHaveLength(used.length)
      }),
    )
  })
})

/** By trying everything. */
function largest(size: number, answers: readonly (readonly number[])[], free = (1 << size) - 1): number {
  const [first, ...rest] = answers
  if (first === undefined) return 0
  const without = largest(size, rest, free)
  const usable = first.filter((set) => set < size && (free & (1 << set)) !== 0)
  return Math.max(without, ...usable.map((set) => 1 + largest(size, rest, free & ~(1 << set))))
}
