import { expect, test } from 'vitest'
import { scopeNeed } from '../../../core/connectors/credentials/scope-need.ts'

const rules = [
  { actionPattern: 'generic.*', scopes: ['all'] },
  { actionPattern: 'generic.orders.*', scopes: ['orders.write'] },
  { actionPattern: 'generic.orders.list', scopes: ['orders.read'] },
]

test.each([
  [['generic.orders.list'], ['orders.read']],
  [['generic.orders.create'], ['orders.write']],
  [['generic.invoices.list'], ['all']],
  [
    ['generic.orders.create', 'generic.orders.list'],
    ['orders.read', 'orders.write'],
  ],
])('the actions %j need the scopes %j', (types, permissions) => {
  const actions = types.map((type) => ({ type, target: null, changes_workflows: false }))
  expect(scopeNeed(actions, rules)).toEqual({ repositories: null, permissions, readsMore: false })
})

test('an action that no pattern matches is not narrowed, nor is a request beside it', () => {
  const actions = ['generic.orders.list', 'mcp.tools.list'].map((type) => ({
    ...{ type, target: null, changes_workflows: false },
  }))
  expect(scopeNeed(actions, rules)).toBe('mcp.tools.list')
})
