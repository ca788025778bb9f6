import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type GoldenCase, USUAL_HOST } from '../../core/connectors/golden.ts'
import { start } from './pipeline-world.ts'
import { STARTER } from './starter-rules.ts'
import type { TestExchangeInput } from './test-exchange.ts'

/** Requests by which a code host, a chat or a payment provider does more than their operation is known for. */
const CASES: readonly GoldenCase[] = JSON.parse(
  readFileSync(new URL('../../golden/requests/confused-deputies.json', import.meta.url), 'utf8'),
)

const inputOf = ({ connector, request }: GoldenCase): TestExchangeInput => ({
  ...{ method: request.method, host: USUAL_HOST[connector], target: request.target },
  headers: request.headers.flat(),
  ...(request.body === undefined ? {} : { body: request.body }),
})

describe('under the rules of the first start', () => {
  it.each(CASES.map((one) => [`${one.connector}: ${one.name}`, one] as const))(
    '%s is not free',
    async (_, one) => {
      const world = await start(STARTER)
      world.state.onHold = async () => ({ kind: 'denied', approvalId: 'apv_1', note: null })
      const { reply } = await world.send(inputOf(one))
      expect(reply.status).toBe(403)
      expect(world.upstream.seen).toEqual([])
      expect(world.records).toHaveLength(1)
      const { action, actions = [action] } = one.expect
      expect(world.records[0]?.actions ?? [world.records[0]?.action_type]).toEqual(
        expect.arrayContaining([...actions]),
      )
    },
  )

  it('everyday work is', async () => {
    const json = ['Content-Type', 'application/json']
    for (const [host, target, body] of [
      [
        'api.github.com',
        '/repos/acme/site/issues',
        { title: 'Mail to dev@example.com fails', body: 'see /docs/claude.md' },
      ],
      ['api.github.com', '/repos/acme/site/git/refs', { ref: 'refs/heads/x', sha: 'aa' }],
      ['slack.com', '/api/chat.postMessage', { channel: 'C1', text: 'done' }],
    ] as const) {
      const world = await start(STARTER)
      const { reply } = await world.send({
        method: 'POST',
        host,
        target,
        headers: json,
        body: JSON.stringify(body),
      })
      expect(reply.status, target).toBe(200)
    }
  })
})
