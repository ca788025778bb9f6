import { describe, expect, test } from 'vitest'
import { OperatorState, PushBody, PushReply } from '../../../core/wire/operator/operator.ts'

const body = {
  uid: 'u',
  generation: 1,
  source: 'kubernetes',
  managed_by: 'kubernetes Policy team/prod',
  resource: {
    apiVersion: 'chaperone.dev/v1alpha1',
    kind: 'Policy',
    metadata: { name: 'p' },
    spec: { newer: 1 },
  },
}

describe('an operator of another version than the control plane', () => {
  test('an older control plane ignores fields that it does not know', () => {
    expect(PushBody.parse({ ...body, newer: { deep: [1] } })).toEqual(body)
  })

  test('an older control plane refuses the object for a critical field that it does not know, and says so', () => {
    const { problems } = PushBody.parse({ ...body, newer: 1, critical: ['newer', 'created_at'] })
    expect(problems).toEqual([
      'The operator uses newer, which this version of the control plane does not understand. Upgrade the control plane.',
    ])
    expect(PushBody.parse({ ...body, critical: ['created_at'] }).problems).toBeUndefined()
  })

  test('an older operator reads a reply with values and fields that only a newer control plane has', () => {
    const reply = {
      accepted: false,
      reasons: ['x'],
      problem: 'Quota',
      in_force: 'paused',
      version: 1,
      newer: 1,
    }
    expect(PushReply.parse(reply)).toMatchObject({ problem: 'Invalid', in_force: 'nothing' })
  })

  test('a newer operator reads the state of an older control plane, whose processes have no version', () => {
    const process = {
      gateway: 'a/b',
      process_id: 'p',
      covered_version: 1,
      has_kill_state: true,
      rejected: null,
    }
    const { processes } = OperatorState.parse({ version: 1, kills: [], processes: [process] })
    expect(processes[0]).toMatchObject({ version: null, warnings: [] })
  })
})
