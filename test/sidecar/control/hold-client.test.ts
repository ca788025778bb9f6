import { expect, test } from 'vitest'
import type { ChaperoneError } from '../../../core/errors.ts'
import type { HoldBody } from '../../../core/wire/gateway/hold.ts'
import { createControlClient } from '../../../sidecar/control/client/client.ts'
import { createHoldClient } from '../../../sidecar/control/holds/hold-client.ts'
import { type Recorder, replyJson, startRecorder } from '../../support/recorder.ts'

const HOLD: HoldBody = {
  ...{
    binding: 'b1',
    agent: 'bot',
    act_id: 'act_1',
    connector: 'codehost',
    action_type: 'codehost.pr.merge',
  },
  ...{ target: 'acme/site', method: 'PUT', host: 'api.github.com', path: '/repos/acme/site/pulls/1/merge' },
  ...{ parameters: {}, risk_score: 0.5, risk_factors: [], matched_rule: null },
  ...{ required_approver_groups: [], requested_by_agent_text: null, body_sha256: null },
  ...{ headers: [], unread_body: null },
}

/** Why nobody was asked, when the control plane answers this to a new hold. */
async function failureOf(control: Recorder): Promise<ChaperoneError> {
  const client = createControlClient({ url: control.url, token: 't', processId: 'proc_1' })
  try {
    return await createHoldClient(client)
      .ask(HOLD)
      .then(
        () => Promise.reject(new Error('it was answered')),
        (error: ChaperoneError) => error,
      )
  } finally {
    await client.close()
  }
}

test.each([
  [400, { error: 'Validation failed', message: 'parameters.a: has a NUL' }, 'parameters.a: has a NUL'],
  [401, { error: 'Unauthorized', message: 'This needs a gateway token' }, 'This needs a gateway token'],
  [404, { error: 'Not found' }, 'Not found'],
  [413, 'no JSON', 'nothing more'],
])(
  'a hold that the control plane refuses with %i says what was answered, and not to come back soon',
  async (status, body, said) => {
    await using control = await startRecorder({ answer: replyJson(body, status) })
    const failure = await failureOf(control)
    expect(failure).toMatchObject({ code: 'not_ready', status: 503 })
    expect(failure.message).toContain(`answered ${status}`)
    expect(failure.message).toContain(said)
    expect(failure.message).not.toContain('is unreachable')
    expect(failure.options.retryAfterS).toBeUndefined()
    expect(control.seen).toHaveLength(1)
  },
)

test.each([500, 503])(
  'a hold that the control plane answers with %i says so, and to come back soon',
  async (status) => {
    await using control = await startRecorder({ answer: replyJson({ error: 'Internal error' }, status) })
    const failure = await failureOf(control)
    expect(failure).toMatchObject({ code: 'not_ready', options: { retryAfterS: 5 } })
    expect(failure.message).toContain(`answered ${status}`)
    expect(failure.message).not.toContain('is unreachable')
  },
)

test('an invalid reply is reported as such', async () => {
  await using control = await startRecorder({ answer: replyJson({ outcome: 'maybe' }) })
  const failure = await failureOf(control)
  expect(failure.code).toBe('not_ready')
  expect(failure.message).toContain('answered 200')
})

test('only a control plane without a reply counts as unreachable', async () => {
  const control = await startRecorder()
  await control.close()
  const failure = await failureOf(control)
  expect(failure).toMatchObject({ code: 'not_ready', options: { retryAfterS: 5 } })
  expect(failure.message).toContain('is unreachable')
})

test('a hold under a kill switch that only the control plane has is refused as killed', async () => {
  const body = {
    error: 'Kill switch active: drill',
    message: 'Kill switch active: drill',
    scope: 'agent:bot',
  }
  await using control = await startRecorder({ answer: replyJson(body, 403) })
  expect(await failureOf(control)).toMatchObject({
    code: 'kill_switch',
    status: 403,
    options: { error: 'Kill switch active: drill', extra: { decision: 'deny', scope: 'agent:bot' } },
  })
})
