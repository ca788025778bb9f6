import { describe, expect, test } from 'vitest'
import { satisfiedBy } from '../../../core/state/approver-answers.ts'
import {
  type ApproverIdentity,
  areDistinctApprovers,
  isSameApprover,
} from '../../../core/state/approver-identity.ts'

/** `way id [address]`; an address in brackets is not verified. */
function person(text: string): ApproverIdentity {
  const [way = '', id = '', address = ''] = text.split(' ')
  const email = address.replace(/[()]/g, '') || null
  return { way: way as ApproverIdentity['way'], id, email, isEmailVerified: email === address }
}

/** Of as many distinct sets as there are answers, those that answers by different approvers satisfy. */
function satisfied(approvers: readonly ApproverIdentity[]): number {
  const sets = [...approvers.keys()]
  const found = satisfiedBy(
    sets.map(() => ({ distinct: true })),
    approvers.map(() => sets),
    (a, b) => areDistinctApprovers(approvers[a]!, approvers[b]!),
  )
  const used = found.filter((answer) => answer !== null)
  expect(new Set(used).size).toBe(used.length)
  return used.length
}

describe('number of distinct approvers of these answers', () => {
  test.each<[number, string[]]>([
    [1, ['account a']],
    [1, ['account a', 'account a']],
    [2, ['account a', 'account b']],
    [2, ['account a (x@y.z)', 'account b (x@y.z)']],
    [2, ['token a', 'token b']],
    [2, ['certificate a', 'certificate b']],
    // One identity, presented in two ways.
    [1, ['token a', 'certificate a']],
    // Nothing says that these are two.
    [1, ['token a', 'certificate b']],
    [1, ['account a', 'token b']],
    [1, ['account a', 'certificate b']],
    [1, ['account a x@y.z', 'token b']],
    [1, ['account a (x@y.z)', 'token b q@y.z']],
    [1, ['account a (x@y.z)', 'token b x@y.z']],
    [1, ['account a', 'token b q@y.z']],
    [1, ['token a x@y.z', 'certificate b']],
    // The same address.
    [1, ['account a x@y.z', 'token b x@y.z']],
    [1, ['token a x@y.z', 'certificate b x@y.z']],
    [1, ['token a x@y.z', 'token b x@y.z']],
    [1, ['certificate a x@y.z', 'certificate b x@y.z']],
    // Two verified addresses.
    [2, ['account a x@y.z', 'token b q@y.z']],
    [2, ['account a x@y.z', 'certificate b q@y.z']],
    [2, ['token a x@y.z', 'certificate b q@y.z']],
    [3, ['account a x@y.z', 'token b q@y.z', 'certificate c r@y.z']],
    // The third may be either of the others.
    [2, ['account a', 'account b', 'token c']],
    [2, ['token c', 'account a', 'account b']],
    [2, ['account a x@y.z', 'token b q@y.z', 'certificate c']],
    [2, ['account a', 'token b q@y.z', 'certificate c r@y.z']],
    [2, ['account a x@y.z', 'account b (q@y.z)', 'token c r@y.z']],
    [2, ['account a x@y.z', 'account b q@y.z', 'token c q@y.z']],
  ])('%i: %j', (count, answers) => {
    expect(satisfied(answers.map(person))).toBe(count)
    expect(satisfied([...answers].reverse().map(person))).toBe(count)
  })

  test('another answer never makes them fewer', () => {
    const ways = ['account', 'token', 'certificate']
    const addresses = ['', ' x@y.z', ' q@y.z', ' (x@y.z)']
    const all = ways.flatMap((way) => addresses.map((address, at) => person(`${way} ${way}-${at}${address}`)))
    for (const first of all)
      for (const second of all)
        for (const third of all)
          expect(satisfied([first, second, third])).toBeGreaterThanOrEqual(satisfied([first, second]))
  })
})

test.each([
  [true, 'account a', 'account a'],
  [true, 'account a (x@y.z)', 'token b x@y.z'],
  [true, 'token a', 'certificate a'],
  [true, 'token a x@y.z', 'token b x@y.z'],
  [false, 'account a (x@y.z)', 'account b (x@y.z)'],
  [false, 'account a', 'token b'],
  [false, 'account a x@y.z', 'token b q@y.z'],
])('same approver: %s for %s and %s', (isSame, a, b) => {
  expect(isSameApprover(person(a), person(b))).toBe(isSame)
})
