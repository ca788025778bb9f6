import { describe, expect, test } from 'vitest'
import { policyBehind } from '../../controlplane/dashboard/pages/approvals/always-allow/permission-proposal.ts'

describe('the policy that requires approval', () => {
  test.each([
    ['codehost.pr.merge', null],
    ['codehost.pr.*', null],
    ['*', null],
    [null, null],
    ['release: production needs a manager', 'release: production needs a manager'],
    ['risky', 'risky'],
    ['payments.*', 'payments.*'],
  ])('%s for codehost.pr.merge: policy %s', (matched_rule, policy) => {
    expect(policyBehind({ matched_rule, action_type: 'codehost.pr.merge' })).toBe(policy)
  })
})
