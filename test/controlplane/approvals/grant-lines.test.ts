import { expect, test } from 'vitest'
import { grantLines } from '../../../controlplane/features/permissions/grant-lines.ts'

type Given = Parameters<typeof grantLines>

test('explain shows the names of compared parameters, and not their values, which viewers may not read', async () => {
  const grant = {
    ...{ id: 'grt_1', uses: 1, maxUses: 3, expiresAt: new Date('2030-01-31T12:00:00Z'), isExact: true },
    ...{ parameters: { number: 7, commit_title: 'Fix the unpublished flaw' } },
    heldBy: { policies: [{ rule: 'merges' }] },
  }
  const explained = {
    action: { connector: 'codehost', type: 'codehost.pr.merge', resource: { target: 'acme/site' } },
    ...{ connector: 'team/github', decision: { verdict: 'hold' } },
  }
  const [approvals, asked] = [
    { grantsFor: async () => [grant] },
    { gatewayId: 'gw_1', agent: 'team/bot', explained },
  ] as unknown as Given
  expect(await grantLines(approvals, asked)).toEqual([
    'grant       grt_1 approves holds of "merges" if the request has the approved values of number, commit_title and nothing else differs: 2 of 3 uses left, until 2030-01-31T12:00:00.000Z',
  ])
})
