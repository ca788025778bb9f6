import { describe, expect, test } from 'vitest'
import type { Action } from '../../../core/action/action.ts'
import {
  ACTION_REQUEST_STATES,
  type ActionRequestEvent,
  moveActionRequest,
} from '../../../core/state/action-request.ts'
import { type ApprovalEvent, moveApproval } from '../../../core/state/approval.ts'
import { leaseForbids, leaseStep } from '../../../core/state/lease.ts'
import { createSlidingWindow } from '../../../core/state/sliding-window.ts'
import type { ApprovalStatus } from '../../../core/wire/gateway/internal.ts'
import fc from '../../support/fast-check.ts'

const approvalEvents: ApprovalEvent[] = ['approve', 'deny', 'expire', 'cancel']
const requestEvents: ActionRequestEvent[] = ['approve', 'deny', 'expire', 'cancel', 'execute', 'fail']

describe('approvals', () => {
  test('a pending one moves to the state of the event', () => {
    expect(approvalEvents.map((event) => moveApproval('pending', event))).toEqual([
      { ok: true, state: 'approved' },
      { ok: true, state: 'denied' },
      { ok: true, state: 'expired' },
      { ok: true, state: 'cancelled' },
    ])
  })

  test('late is 410, a second answer is 409, and both say why', () => {
    for (const event of approvalEvents) {
      expect(moveApproval('expired', event)).toMatchObject({ ok: false, code: 'gone' })
      for (const state of ['approved', 'denied', 'cancelled'] as const) {
        const refused = moveApproval(state, event)
        expect(refused).toMatchObject({ ok: false, code: 'conflict' })
        expect(!refused.ok && refused.detail).toContain(state)
      }
    }
  })

  test('no sequence of events resolves an approval twice', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...approvalEvents), { maxLength: 8 }), (events) => {
        let state: ApprovalStatus = 'pending'
        let moves = 0
        for (const event of events) {
          const next = moveApproval(state, event)
          if (next.ok) {
            state = next.state
            moves++
          }
        }
        expect(moves).toBe(Math.min(events.length, 1))
      }),
    )
  })
})

describe('action requests', () => {
  test('the whole table', () => {
    const table = ACTION_REQUEST_STATES.map((state) => {
      const row = requestEvents.map((event) => {
        const next = moveActionRequest(state, event)
        return next.ok ? next.state : next.code
      })
      return [state, ...row]
    })
    const no = 'conflict'
    expect(table).toEqual([
      ['pending_approval', 'allowed', 'denied', 'expired', 'cancelled', no, no],
      ['allowed', no, no, no, 'cancelled', 'executed', 'execution_failed'],
      ['denied', no, no, no, no, no, no],
      ['cancelled', no, no, no, no, no, no],
      ['expired', 'gone', 'gone', no, no, no, no],
      ['executed', no, no, no, no, no, no],
      ['execution_failed', no, no, no, no, no, no],
    ])
  })

  test('a refusal names the state', () => {
    const refused = moveActionRequest('executed', 'cancel')
    expect(!refused.ok && refused.detail).toBe(
      'The action is executed and cannot be cancelled. Submit a new action instead.',
    )
  })
})

describe('the lease', () => {
  const policy = { highRiskAfterSeconds: 30, writesAfterSeconds: 120, everythingAfterSeconds: 600 }
  const action = (over: Partial<Action>): Action => ({
    type: 'x.y.z',
    connector: 'x',
    effect: 'read',
    risk: 'low',
    resource: { provider: 'x' },
    parameters: {},
    riskHints: {},
    ...over,
  })

  test.each([
    [null, 'ok'],
    [0, 'ok'],
    [29_999, 'ok'],
    [30_000, 'high_risk'],
    [120_000, 'writes'],
    [599_999, 'writes'],
    [600_000, 'everything'],
  ])('after %s ms the step is %s', (ms, step) => {
    expect(leaseStep(ms, policy)).toBe(step)
  })

  test('a policy whose steps are out of order still takes the severest that is due', () => {
    expect(leaseStep(10_000, { ...policy, everythingAfterSeconds: 5 })).toBe('everything')
    expect(leaseStep(0, { ...policy, highRiskAfterSeconds: 0 })).toBe('high_risk')
  })

  test.each([
    ['a low-risk read', action({}), false, [false, false, false, true]],
    ['a model call', action({ effect: 'compute' }), false, [false, false, false, true]],
    ['a low-risk write', action({ effect: 'write' }), false, [false, false, true, true]],
    ['a high-risk read', action({ risk: 'high' }), false, [false, true, true, true]],
    ['an unmapped read', action({ unmapped: true }), false, [false, true, true, true]],
    ['what needs a person', action({}), true, [false, true, true, true]],
    [
      'a medium risk that hints raise',
      action({
        risk: 'medium',
        riskHints: { irreversible: true, production_target: true, financial_impact: true },
      }),
      false,
      [false, true, true, true],
    ],
  ] as const)('%s is forbidden step by step', (_name, subject, needsHold, wanted) => {
    const steps = ['ok', 'high_risk', 'writes', 'everything'] as const
    expect(steps.map((step) => leaseForbids(step, subject, needsHold))).toEqual(wanted)
  })
})

describe('the sliding window', () => {
  test('admits the limit, then refuses until the oldest is 60 s old', () => {
    const window = createSlidingWindow(2)
    expect(window.take(0)).toEqual({ ok: true })
    expect(window.take(10_500)).toEqual({ ok: true })
    expect(window.take(20_000)).toEqual({ ok: false, retryAfterS: 40 })
    expect(window.take(59_999)).toEqual({ ok: false, retryAfterS: 1 })
    expect(window.take(60_000)).toEqual({ ok: true })
    expect(window.take(60_001)).toEqual({ ok: false, retryAfterS: 11 })
  })

  test('equals a log of everything admitted in the last 60 s', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 200 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), steps, (limit, gaps) => {
        const window = createSlidingWindow(limit)
        const admitted: number[] = []
        let now = 0
        for (const gap of gaps) {
          now += gap
          const recent = admitted.filter((stamp) => now - stamp < 60_000)
          const oldest = recent[0] ?? 0
          const wanted =
            recent.length < limit
              ? { ok: true }
              : { ok: false, retryAfterS: Math.max(1, Math.ceil((oldest + 60_000 - now) / 1_000)) }
          expect(window.take(now)).toEqual(wanted)
          if (wanted.ok) admitted.push(now)
        }
      }),
    )
  })

  test('a refused request is not counted: hammering does not postpone the next slot', () => {
    const window = createSlidingWindow(1)
    window.take(0)
    for (let now = 1; now < 60_000; now += 500) expect(window.take(now).ok).toBe(false)
    expect(window.take(60_000).ok).toBe(true)
  })
})
