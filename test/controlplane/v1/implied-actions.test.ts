import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { at } from '../routes/start.ts'
import { startWorld, type TestAgent, type World } from './world.ts'

let world: World
let agent: TestAgent

beforeAll(async () => {
  world = await startWorld()
  for (const type of ['codehost', 'chat']) {
    const made = await world.admin('POST', '/api/dashboard/connectors', { type, token: 'secret' })
    expect([200, 409]).toContain(made.status)
  }
  for (const [connector_type, action_pattern, decision] of [
    ['codehost', 'codehost.branch.*', 'allow'],
    ['codehost', 'codehost.issue.*', 'allow'],
    ['codehost', 'codehost.git.force_push', 'deny'],
    ['codehost', 'codehost.tag.create', 'deny'],
    ['codehost', 'codehost.pr.update', 'deny'],
    ['chat', 'chat.message.*', 'allow'],
    ['chat', 'effect:egress', 'deny'],
  ]) {
    const body = { gateway_name: 'default/local', connector_type, action_pattern, decision }
    const made = await world.admin('POST', '/api/dashboard/permissions', body)
    if (made.status !== 200) throw new Error(made.text)
  }
  agent = await world.agent()
})
afterAll(() => world?.[Symbol.asyncDispose]())

describe('an action of the code host or the chat that is submitted by its name', () => {
  test.each<[string, object, string, string]>([
    ['codehost.branch.update', { ref: 'heads/x', sha: 'a', force: true }, 'deny', 'git.force_push'],
    ['codehost.branch.update', { ref: 'heads/x', sha: 'a' }, 'requires_approval', ''],
    ['codehost.branch.create', { ref: 'refs/tags/v1', sha: 'a' }, 'deny', 'tag.create'],
    ['codehost.branch.create', { ref: 'refs/heads/x', sha: 'a' }, 'allow', ''],
    ['codehost.issue.update', { number: 7, title: 'x' }, 'deny', 'pr.update'],
    ['codehost.issue.create', { title: 'x' }, 'allow', ''],
    ['chat.message.post', { channel: 'C1', text: 'x' }, 'deny', ''],
    ['chat.message.unschedule', { channel: 'C1', scheduled_message_id: 'Q1' }, 'allow', ''],
  ])('%s %j: %s', async (type, parameters, outcome, named) => {
    const provider = type.slice(0, type.indexOf('.'))
    const resource = provider === 'codehost' ? { provider, target: 'o/r' } : { provider }
    const action_spec = { type, resource, parameters }
    for (const path of ['/api/v1/actions/dry-run', '/api/v1/actions']) {
      const { body } = await agent.call('POST', path, { action_spec })
      expect(at<string>(body, 'decision', 'outcome')).toBe(outcome)
      expect(at<string>(body, 'decision', 'reason')).toContain(named)
    }
  })
})
