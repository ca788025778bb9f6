import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { IS_FULL } from '../support/proof.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

/**
 * Unmodified SDKs whose first try ends before a person has answered. The SDK tries again by itself (or its caller does,
 * where it never retries), and that try passes by the answer to the first card, once.
 */
const AGENT = new URL('./agents/retry.mjs', import.meta.url).pathname

let vendors: Vendors
let laptop: Laptop
beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({ database: 'worker', manifests: { 'vendors.yaml': vendors.manifests } })
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})

type Card = {
  readonly id: string
  readonly status: string
  readonly action_type: string
  readonly headers: ReadonlyArray<{ readonly name: string; readonly value: string }>
}

async function cards(actionType: string): Promise<readonly Card[]> {
  const { body } = await laptop.api('GET', '/api/dashboard/proxy-approvals')
  return (body['approvals'] as Card[]).filter((card) => card.action_type === actionType)
}

async function records(actionType: string): Promise<ReadonlyArray<{ readonly decision: string }>> {
  const path = `/api/dashboard/traffic?limit=500&action_type=${actionType}`
  return (await laptop.api('GET', path)).body['traffic'] as Array<{ decision: string }>
}

const given = (decision: string) => (row: { readonly decision: string }) => row.decision === decision
const answer = (id: string, approved: boolean) =>
  laptop.api('POST', '/api/dashboard/proxy-approvals', { id, approved, note: 'test' })

const SDKS = [
  ['openai', 'llm_a.image.generate', '/v1/images/generations'],
  ['openai-file', 'llm_a.file.upload', '/v1/files'],
  ['anthropic', 'llm_b.batch.create', '/v1/messages/batches'],
  ['stripe', 'payments.charge.refund', '/v1/refunds'],
  ['octokit', 'codehost.pr.merge', '/repos/acme/site/pulls/7/merge'],
  ['slack', 'chat.channel.archive', '/api/conversations.archive'],
  ['mcp', 'mcp.tools.write_note', '/mcp'],
] as const

describe('a client that timed out during a hold', () => {
  // Every third one in `npm test`: each waits for its own retries.
  test.each(SDKS.filter((_, at) => IS_FULL || at % 3 === 0))(
    '%s tries again and passes by the same card, once',
    async (sdk, actionType, path) => {
      const calls = () =>
        vendors.recorder.seen.filter(
          ({ target, body }) => target === path && (sdk !== 'mcp' || body.includes('"tools/call"')),
        )
      const running = laptop.cli(['run', '--', 'node', AGENT, sdk])
      const [card] = await eventually('the card', async () => {
        const found = await cards(actionType)
        return found.length === 0 ? null : found
      })
      await eventually(
        'the first try to end',
        async () => (await records(actionType)).some(given('HOLD')) || null,
      )
      expect(calls()).toHaveLength(0)
      await answer(card?.id ?? '', true)
      const outcome = await running
      expect(outcome.stdout).toContain('"ok":true')
      expect(calls()).toHaveLength(1)
      expect((await cards(actionType)).map(({ status }) => status)).toEqual(['approved'])
      const rows = await eventually('the record', async () => {
        const found = await records(actionType)
        return found.some(given('ALLOW')) ? found : null
      })
      expect(rows.filter(given('ALLOW'))).toHaveLength(1)
      if (sdk === 'stripe') {
        const names = card?.headers.map(({ name }) => name)
        expect(names).toEqual(['stripe-account', 'stripe-version'])
      }
    },
  )

  test('does not pass with another value of an unknown header', async () => {
    const url = 'https://api.github.com/repos/acme/site/pulls/8/merge'
    const merge = (account: string, ...more: string[]) =>
      laptop.cli([
        ...['run', '--', 'curl', '-sS', '-X', 'PUT', '-H', `X-Account: ${account}`, ...more],
        ...['-H', 'content-type: application/json', '-d', '{}', url],
      ])
    const calls = () => vendors.recorder.seen.filter(({ target }) => target.includes('/pulls/8/'))
    const pending = () =>
      eventually(
        'a card',
        async () => (await cards('codehost.pr.merge')).find((c) => c.status === 'pending') ?? null,
      )
    const before = (await records('codehost.pr.merge')).filter(given('HOLD')).length
    const first = merge('alice', '-m', '2')
    const alice = await pending()
    await first
    await eventually(
      'the first try to end',
      async () => (await records('codehost.pr.merge')).filter(given('HOLD')).length > before || null,
    )
    await answer(alice?.id ?? '', true)
    const other = merge('mallory')
    const mallory = await pending()
    expect(mallory?.id).not.toBe(alice?.id)
    expect(mallory?.headers).toContainEqual({ name: 'x-account', value: 'mallory' })
    await answer(mallory?.id ?? '', false)
    expect((await other).stdout).toContain('approval denied')
    expect(calls()).toHaveLength(0)
    expect((await merge('alice')).stdout).toContain('merged')
    expect(calls().map((call) => call.header('x-account'))).toEqual(['alice'])
    const third = merge('alice')
    await answer((await pending())?.id ?? '', false)
    expect((await third).stdout).toContain('approval denied')
    expect(calls()).toHaveLength(1)
  })
})
