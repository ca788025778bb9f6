import { expect, test } from 'vitest'
import { unknownScope } from '../../../../core/decision/kill-switch/kill-scope-names.ts'
import { isKillScope, namespaceOfScope } from '../../../../core/decision/kill-switch/kill-switch.ts'

const NAMES = {
  ...{ agents: [{ id: 'agent_1', name: 'team/research' }], connectors: [], gateways: ['team/main'] },
  instances: [
    { pod: 'team/warm-1', pod_uid: 'u1', claim: 'team/alice' },
    { pod: 'team/web-1', pod_uid: 'u2' },
  ],
}

test.each([
  ['claim:team/alice', 'team'],
  ['pod:Team/warm-1', 'team'],
  ['claim:alice', null],
  ['connector:team/codehost', null],
])('the scope %s is of the namespace %s', (scope, namespace) => {
  expect(isKillScope(scope)).toBe(true)
  expect(namespaceOfScope(scope)).toBe(namespace)
})

test.each([['claim:team/alice'], ['claim:alice'], ['pod:web-1'], ['pod:team/warm-1']])(
  '%s is known',
  (scope) => {
    expect(unknownScope(scope, NAMES)).toBeNull()
  },
)

test.each([
  ['claim:alise', 'claim:alice'],
  ['pod:team/web-2', 'pod:team/web-1'],
])('%s matches no running pod; the nearest is %s', (scope, nearest) => {
  const unknown = unknownScope(scope, NAMES)
  expect(unknown?.warning).toContain(`No running pod or its claim is called ${scope}`)
  expect(unknown?.nearest[0]).toBe(nearest)
})
