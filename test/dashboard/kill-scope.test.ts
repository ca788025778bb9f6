import { expect, test } from 'vitest'
import { instanceNames, scopeText } from '../../controlplane/dashboard/frame/kill-switch/scope.ts'
import type { AgentList } from '../../core/wire/agents.ts'

const agent = (...instances: readonly object[]) => ({ running: { pods: instances.length, instances } })

test('the dialog of the kill switch offers the claims and pods that run', () => {
  const agents = [
    agent({ pod: 'team/warm-2', pod_uid: 'b', claim: 'team/bob' }, { pod: 'team/warm-1', pod_uid: 'a' }),
    agent({ pod: 'team/cold', pod_uid: 'c', claim: 'team/alice' }),
    {},
  ]
  const names = instanceNames({ agents } as unknown as AgentList)
  expect(names).toEqual({
    claim: ['team/alice', 'team/bob'],
    pod: ['team/cold', 'team/warm-1', 'team/warm-2'],
  })
  expect(scopeText('claim', names.claim[0] ?? '')).toBe('claim:team/alice')
})
