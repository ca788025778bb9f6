import { expect } from 'vitest'
import type { Call } from '../routes/start.ts'

/** One refusal: `error` to the letter; `extra` are further fields of the body that the specification or a ruling names. */
export type RefusalCase = {
  readonly row: string
  readonly why: string
  readonly by: () => Call
  readonly given?: () => Promise<{ readonly path?: string; readonly body?: unknown }>
  readonly path?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly error: unknown
  readonly extra?: Record<string, unknown>
}

export const on = (action: { id: string; token: string }, suffix: string) => ({
  path: `/api/v1/actions/${action.id}${suffix}`,
  body: { decision_token: action.token },
})
export const answerOf = (action: { approval: string }) => ({
  path: `/api/v1/approvals/${action.approval}/respond`,
  body: { decision: 'approve' },
})
export const invalid = (details: string | RegExp) => ({
  error: 'Validation failed',
  extra: { details: details instanceof RegExp ? expect.stringMatching(details) : details },
})
