import { expect } from 'vitest'
import type { Answer, Call } from '../routes/start.ts'

/** A row of specification 4.3 or 4.4: how it is called, and all of what it answers with 200. */
export type SuccessCase = {
  readonly row: string
  readonly as?: string
  readonly by: () => Call
  readonly given?: () => Promise<{ readonly path?: string; readonly body?: unknown }>
  readonly path?: string
  readonly body?: unknown
  readonly answer: unknown
  /** Of answers that are no JSON, or have headers of their own. */
  readonly also?: (answer: Answer) => void
}

export const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[A-Za-z0-9]+$`))
export const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const POLICIES = expect.toSatisfy(
  (list: string[]) => list.length > 0 && list.every((one) => /^pol_\w+$/.test(one)),
  'ids of policies',
)
export const TOKEN = expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)
export const TEXT = expect.stringMatching(/./)
export const NUMBER = expect.any(Number)
export const decision = (outcome: string) => ({
  ...{ outcome, reason: TEXT, matched_policies: POLICIES, constraints: null },
  risk_score: expect.toSatisfy((score) => score >= 0 && score <= 1, 'between 0 and 1'),
})
export const policySummary = {
  ...{ id: id('pol'), name: TEXT, description: expect.any(String), enabled: expect.any(Boolean) },
  ...{ priority: NUMBER, tags: expect.any(Array), created_at: ISO },
}
export const every = (item: object) =>
  expect.toSatisfy((list: unknown[]) => {
    expect(list.length).toBeGreaterThan(0)
    for (const one of list) expect(one).toMatchObject(item)
    return true
  }, 'a list of these')
