import { describe, expect, test } from 'vitest'
import { createLostRanges, type LostRange, mergeRanges } from '../../../sidecar/journal/lost-ranges.ts'
import fc from '../../support/fast-check.ts'

const range = (from: number, to: number, process_id = 'p'): LostRange => ({ process_id, from, to })
const numbersOf = (ranges: readonly LostRange[]) =>
  ranges.flatMap(({ process_id, from, to }) =>
    Array.from({ length: to - from + 1 }, (_, n) => `${process_id} ${from + n}`),
  )

describe('ranges of lost records', () => {
  test.each<[string, readonly number[], readonly LostRange[]]>([
    ['in order', [1, 2, 3], [range(1, 3)]],
    ['backwards', [3, 2, 1], [range(1, 3)]],
    ['every other first', [1, 3, 5, 2, 4], [range(1, 5)]],
    ['with gaps', [1, 3, 5], [range(1, 1), range(3, 3), range(5, 5)]],
    ['twice', [1, 1, 2, 2], [range(1, 2)]],
    ['a gap that is filled later', [1, 2, 9, 8, 7, 3], [range(1, 3), range(7, 9)]],
  ])('%s are merged', (_name, numbers, expected) => {
    const lost = createLostRanges()
    for (const seq of numbers) lost.add('p', seq)
    expect(lost.list(100)).toEqual(expected)
    expect(lost.total).toBe(numbers.length)
  })

  test('come in chunks, lowest first, until all are reported', () => {
    const lost = createLostRanges()
    for (let n = 0; n < 2_500; n++) lost.add('p', n * 2)
    const chunks: number[] = []
    for (let chunk = lost.list(1_000); chunk.length > 0; chunk = lost.list(1_000)) {
      chunks.push(chunk.length)
      lost.reported(chunk)
    }
    expect(chunks).toEqual([1_000, 1_000, 500])
  })

  test('of a process are not merged with those of another, nor with refused ones', () => {
    const refused = { ...range(3, 4), reason: 'refused' as const }
    expect(mergeRanges([range(1, 2), range(3, 4, 'q'), refused])).toHaveLength(3)
  })

  test('that grew while they were reported are reported for the rest only', () => {
    fc.assert(
      fc.property(numbers(), numbers(), fc.integer({ min: 1, max: 5 }), (before, meanwhile, max) => {
        const lost = createLostRanges()
        for (const [process, seq] of before) lost.add(process, seq)
        const reported = lost.list(max)
        for (const [process, seq] of meanwhile) lost.add(process, seq)
        lost.reported(reported)
        const first = numbersOf(reported)
        // A number that is lost while it is reported is either listed again or was reported.
        const rest = numbersOf(lost.list(1_000))
        expect(new Set([...first, ...rest])).toEqual(
          new Set([...before, ...meanwhile].map(([process, seq]) => `${process} ${seq}`)),
        )
        expect(rest).toHaveLength(new Set(rest).size)
        const beforeOnly = before.filter((one) => !meanwhile.some((two) => `${two}` === `${one}`))
        for (const [process, seq] of beforeOnly)
          if (first.includes(`${process} ${seq}`)) expect(rest).not.toContain(`${process} ${seq}`)
      }),
    )
  })
})

function numbers() {
  return fc.array(fc.tuple(fc.constantFrom('p', 'q', 'r'), fc.integer({ min: 0, max: 30 })), {
    maxLength: 40,
  })
}
