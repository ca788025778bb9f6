import { describe, expect, test } from 'vitest'
import { ActionSpec, actionFromSpec } from '../../../../core/action/spec.ts'
import { createCatalogue } from '../../../../core/connectors/catalogue.ts'
import { effectsOf } from '../../../../core/connectors/effects/effects.ts'
import { withImpliedActions } from '../../../../core/connectors/execute/implied-actions.ts'
import { knownByName } from '../../../../core/connectors/known-action.ts'
import { isRefusal } from '../../../../core/request/canonical.ts'
import type { ConnectorEntry } from '../../../../core/wire/gateway/sync.ts'
import { boundOf } from '../golden.ts'

type Type = ConnectorEntry['type']
const { knownAction } = createCatalogue()

/** Returns the actions of an action that is submitted by its name to a gateway with a Connector of its type. */
function implied(name: string, parameters: object, hasConnector = true) {
  const provider = name.slice(0, name.indexOf('.')) as Type
  const resource = provider === 'codehost' ? { provider, target: 'o/r' } : { provider }
  const bound = boundOf(provider)
  const spec = ActionSpec.parse({ type: name, resource, parameters })
  const action = actionFromSpec(spec, knownByName(name, knownAction, [bound]))
  const actions = withImpliedActions(action, hasConnector ? bound : null)
  if (isRefusal(actions)) throw new Error(actions.detail)
  return actions
}

describe('an action that is submitted by its name has what its parameters imply', () => {
  test.each<[string, object, readonly string[]]>([
    ['codehost.branch.update', { ref: 'heads/main', sha: 'a', force: true }, ['codehost.git.force_push']],
    ['codehost.branch.update', { ref: 'heads/main', sha: 'a', force: 'yes' }, ['codehost.git.force_push']],
    ['codehost.branch.update', { ref: 'heads/main', sha: 'a', force: false }, []],
    ['codehost.branch.create', { ref: 'refs/tags/v1', sha: 'a' }, ['codehost.tag.create']],
    ['codehost.branch.create', { ref: 'refs/notes/x', sha: 'a' }, ['codehost.ref.create']],
    ['codehost.branch.create', { ref: 'refs/heads/x', sha: 'a' }, []],
    ['codehost.issue.update', { number: 7, title: 'x' }, ['codehost.pr.update']],
    ['codehost.issue.close', { number: 7 }, ['codehost.pr.close']],
    ['codehost.pr.close', { number: 7 }, []],
  ])('%s %j', (name, parameters, further) => {
    for (const hasConnector of [true, false]) {
      const actions = implied(name, parameters, hasConnector)
      expect(actions.map(({ type }) => type)).toEqual([name, ...further])
      expect(actions.slice(1).map(({ isBeside }) => isBeside)).toEqual(further.map(() => true))
    }
  })

  test('a post to a channel counts as one to another organization, because no look-up shows that it is not', () => {
    expect(implied('chat.message.post', { channel: 'C1', text: 'x' }).map(effectsOf)).toEqual([['egress']])
    expect(implied('chat.message.post', { text: 'x' }).map(effectsOf)).toEqual([[]])
    expect(implied('chat.reaction.add', { channel: 'C1' }).map(effectsOf)).toEqual([[]])
  })

  test('a payment with secrets in its answer is high, and credit has financial impact', () => {
    const [card] = implied('payments.issuing_card.get', { id: 'ic_1', expand: ['number'] })
    expect(card?.risk).toBe('high')
    const [plain] = implied('payments.issuing_card.get', { id: 'ic_1' })
    expect(plain?.risk).not.toBe('high')
    const [customer] = implied('payments.customer.create', { balance: -1 })
    expect(customer?.riskHints).toEqual({ financial_impact: true })
  })

  test.each<[string, object, readonly string[]]>([
    ['mcp.rpc.resources_read', { uri: 'https://x.test/?d=1' }, ['egress']],
    ['mcp.rpc.resources_read', { params: { uri: 'https://x.test/?d=1' } }, ['egress']],
    ['mcp.rpc.prompts_get', { name: 'p', arguments: { a: '1' } }, ['egress']],
    ['mcp.rpc.resources_read', { uri: 'note:1' }, []],
  ])('%s %j of a tool server', (name, parameters, effects) => {
    expect(implied(name, parameters).map(effectsOf)).toEqual([effects])
  })
})
