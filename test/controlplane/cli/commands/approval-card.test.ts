import { describe, expect, test } from 'vitest'
import { cardLines } from '../../../../controlplane/cli/commands/approvals.ts'
import { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'

const CARD = {
  ...{ id: 'apv_1', kind: 'hold', status: 'pending', agent: 'builder', action_type: 'generic.post' },
  ...{ target: null, method: 'POST', host: 'api.example.test', path: '/transfer', parameters: {} },
  ...{ risk_score: 0.5, risk_factors: [], matched_rule: null, required_approver_groups: [] },
  ...{ requested_by_agent_text: null, body_sha256: 'a'.repeat(64), responded_by: null, note: null },
  ...{ created_at: '2029-01-01T00:00:00.000Z', expires_at: '2029-01-01T00:05:00.000Z' },
}
const lines = (more: object) => cardLines(ApprovalCard.parse({ ...CARD, ...more }))

describe('the card of the command line', () => {
  test('prints each header field on one line, whatever its value', () => {
    const headers = [
      { name: 'x-account', value: 'alice\u202e\u200b\u0085' },
      { name: 'x-dry-run', value: 'true' },
    ]
    expect(lines({ headers })).toEqual(
      expect.arrayContaining([
        '  header      x-account: alice\\u202e\\u200b\\u0085',
        '  header      x-dry-run: true',
      ]),
    )
  })

  test('states that the body is not shown, and prints its beginning on one line', () => {
    const unread_body = { description: 'The body is not shown.', excerpt: 'pay\n  risk        0\u202e' }
    const shown = lines({ unread_body })
    expect(shown).toContain('  body        The body is not shown.')
    expect(shown).toContain('  begins with "pay\\n  risk        0\\u202e"')
  })

  test('states that no request waits for an access request', () => {
    expect(lines({ access_request: true }).join('\n')).toContain(
      '  access      The agent asks for access; no request is held.',
    )
    expect(lines({}).join('\n')).not.toContain('The agent asks for access; no request is held.')
  })

  test('names the instance of the agent', () => {
    const instance = { pod: 'team/warm-1', pod_uid: 'u', sandbox: 'team/warm-1', claim: 'team/alice' }
    expect(lines({ instance })).toContain('  instance    SandboxClaim team/alice')
    expect(lines({}).join()).not.toContain('instance')
  })

  test('prints the effect of its action, and its effect classes', () => {
    const shown = lines({ effect: 'write', effects: ['delete'] })
    expect(shown).toContain('  effect      write')
    expect(shown).toContain('  effects     delete: Stored data is deleted.')
    expect(lines({}).join()).not.toContain('effect')
  })

  test('prints the hash of a body whose fields are shown', () => {
    expect(lines({})).toContain(`  body        SHA-256 ${'a'.repeat(64)}`)
  })
})
