import { describe, expect, test } from 'vitest'
import { groupDenials } from '../../controlplane/dashboard/pages/overview/denial-groups.ts'

const denial = (agent: string | null, count: number, last_at: string) => ({
  ...{ agent, count, last_at },
  ...{ action_type: 'codehost.pr.get', host: null, reason: 'permission' },
})

describe('denials on Overview', () => {
  test('are one group for each agent, with the number of those that are not listed', () => {
    const groups = groupDenials([
      { ...denial('dev', 5, '2026-01-01T00:00:00Z'), agent_count: 9 },
      { ...denial('loud', 4, '2026-01-01T00:00:01Z'), agent_count: 40 },
      { ...denial('dev', 3, '2026-01-02T00:00:00Z'), agent_count: 9 },
      { ...denial(null, 1, '2026-01-01T00:00:00Z'), agent_count: 1 },
    ])
    expect(groups).toMatchObject([
      { agent: 'loud', count: 40, others: 36, denials: [{ count: 4 }] },
      { agent: 'dev', count: 9, others: 1, lastAt: '2026-01-02T00:00:00Z' },
      { agent: null, count: 1, others: 0 },
    ])
  })

  test('of a control plane that sends no count of the agent have the sum of the listed ones', () => {
    const [group] = groupDenials([
      denial('dev', 2, '2026-01-01T00:00:00Z'),
      denial('dev', 1, '2026-01-01T00:00:00Z'),
    ])
    expect(group).toMatchObject({ count: 3, others: 0 })
  })
})
