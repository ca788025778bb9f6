import { describe, expect, it } from 'vitest'
import { expectRefused, start } from './pipeline-world.ts'
import type { Rules } from './test-world.ts'

const rules: Rules = {
  connectors: [
    { type: 'codehost', agentTriggers: { accounts: [], labels: ['autofix'], mentions: ['acme-agent'] } },
  ],
  permissions: [['codehost.*', 'allow']],
  policies: [
    {
      document: {
        rules: [{ name: 'r', conditions: ['"delegate" in action.effects'], decision: 'deny' }],
      },
    },
  ],
}

const post = (target: string, body: object) => ({
  ...{ method: 'POST', target: `/repos/o/r/issues/1/${target}` },
  ...{ headers: ['Content-Type', 'application/json'], body: JSON.stringify(body) },
})

describe('what starts an agent by a pattern of the Connector', () => {
  it.each([
    ['labels', { labels: ['autofix'] }],
    ['comments', { body: 'Fix it, @acme-agent.' }],
  ])('is denied by a rule about delegate: %s', async (target, body) => {
    const world = await start(rules)
    expect((await world.send(post(target, body))).reply.status).toBe(403)
    expectRefused(world)
    expect(world.records[0]?.effects).toEqual(['delegate'])
  })

  it('and nothing else is', async () => {
    const world = await start(rules)
    expect((await world.send(post('labels', { labels: ['bug'] }))).reply.status).toBe(200)
    expect((await world.send(post('comments', { body: 'autofix' }))).reply.status).toBe(200)
    expect(world.upstream.seen).toHaveLength(2)
  })
})
