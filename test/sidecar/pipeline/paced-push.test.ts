import { randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { PACK_BUDGET } from '../../../core/connectors/codehost/push/pack.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { BodyIntake } from '../../../sidecar/listener/body-intake.ts'
import { type GitObject, packOf, pushBody } from '../../support/git-pack.ts'
import { expectRefused, start } from './pipeline-world.ts'
import { type TestExchangeInput, testExchange } from './test-exchange.ts'
import { killAll } from './test-world.ts'

const [OLD, NEW] = ['1'.repeat(40), '2'.repeat(40)]
const UPDATE = { before: OLD, after: NEW, ref: 'refs/heads/main' }
const commitOf = (n: number): GitObject => ({
  type: 'commit',
  data: Buffer.from(`tree ${OLD}\nauthor a\ncommitter b\n\n${n}${randomBytes(15_000).toString('hex')}`),
})
const LARGE = pushBody([UPDATE], packOf(Array.from({ length: 130 }, (_, n) => commitOf(n))))
const PUSH: TestExchangeInput = {
  method: 'POST',
  target: '/acme/site.git/git-receive-pack',
  host: 'github.com',
}

describe('a push', () => {
  it('that is denied with any body is refused by its line, before its body arrives', async () => {
    const world = await start({ permissions: [['codehost.*', 'deny']] })
    const never = new PassThrough()
    const exchange = await world.send({ ...PUSH, body: never })
    expect(exchange.reply.status).toBe(403)
    expectRefused(world)
    expect(world.records[0]).toMatchObject({
      action_type: 'codehost.git.push',
      decision: 'DENY',
      bytes_in: 0,
    })
  })

  it('that is denied with any body and has arrived is classified by its body', async () => {
    const world = await start({ permissions: [['codehost.*', 'deny']] })
    const gone = { before: OLD, after: '0'.repeat(40), ref: 'refs/heads/main' }
    await world.send({ ...PUSH, body: pushBody([gone], Buffer.alloc(0)) })
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ action_type: 'codehost.branch.delete', decision: 'DENY' })
  })

  it('that is denied with any body and large is not read', async () => {
    const world = await start({ permissions: [['codehost.*', 'deny']] })
    await world.send({ ...PUSH, body: LARGE })
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ action_type: 'codehost.git.push', decision: 'DENY' })
  })

  it('of which some kinds are allowed is decided by its body', async () => {
    const world = await start({ permissions: [['codehost.git.push', 'allow']] })
    const exchange = await world.send({ ...PUSH, body: LARGE })
    expect(exchange.reply.status).toBe(403)
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ action_type: 'codehost.git.force_push', decision: 'DENY' })
  })

  it('that is killed while its commits are read is not read further', async () => {
    const world = await start({ permissions: [['codehost.git.push', 'allow']] })
    const exchange = testExchange({ ...PUSH, body: LARGE })
    const running = world.run(exchange)
    const entry = killAll()
    // A few turns of the event loop: far fewer than the commits take.
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(exchange.reply.isStarted).toBe(false)
    exchange.abort.abort({ kind: 'kill', entry })
    await running
    expect(exchange.reply.status).toBe(403)
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ reason: expect.stringMatching(/kill/) })
    expect(exchange.actions).toBeUndefined()
  })

  it('yields: other requests are answered while sixteen are read', async () => {
    const world = await start({
      permissions: [
        ['codehost.git.push', 'allow'],
        ['codehost.issue.*', 'deny'],
      ],
    })
    const order: string[] = []
    const pushes = Array.from({ length: 16 }, () =>
      world.send({ ...PUSH, body: LARGE }).then(() => order.push('push')),
    )
    await new Promise((resolve) => setImmediate(resolve))
    await world.send({ method: 'GET', target: '/repos/acme/site/issues' }).then(() => order.push('other'))
    await Promise.all(pushes)
    expect(order[0]).toBe('other')
    expect(order).toHaveLength(17)
    expect(world.upstream.seen).toEqual([])
    expect(world.records).toHaveLength(17)
  })

  it('is refused with 429 once the pushes of its agent held as much as may be read in a minute', async () => {
    const world = await start({
      permissions: [
        ['codehost.git.force_push', 'require_approval'],
        ['codehost.git.push', 'allow'],
      ],
      agents: [{}, { id: 'agent_2', name: 'other' }],
    })
    const perPush = 130 * 30_000
    const until = Math.ceil(LIMITS.inflatedBytesPerMinute / perPush)
    expect(perPush).toBeLessThan(PACK_BUDGET.bytes)
    const statuses: (number | null)[] = []
    for (let n = 0; n < until; n++) statuses.push((await world.send({ ...PUSH, body: LARGE })).reply.status)
    expect(statuses.slice(0, -1)).not.toContain(429)
    expect(statuses.at(-1)).toBe(429)
    expect(world.records).toHaveLength(until)
    expect(world.upstream.seen).toEqual([])
    const other = { kind: 'port', agent: 'other' } as const
    const exchange = await world.send({ ...PUSH, body: LARGE, credentials: other })
    expect(exchange.reply.status).not.toBe(429)
  })
})

describe('a body that arrives byte by byte', () => {
  const source = { want: () => undefined, hold: () => undefined }

  it('is scanned once, and buffered in a few pieces', async () => {
    const intake = new BodyIntake(source, null)
    const seen: number[] = []
    const peeked = intake.peek(100_000, (bytes) => {
      seen.push(bytes.length)
      return bytes.length >= 60_000 ? 0 : bytes.length + 20_000
    })
    for (let n = 0; n < 100_000; n++) intake.push(Buffer.from([n & 0xff]))
    const bytes = await peeked
    expect(seen).toEqual([0, 20_000, 40_000, 60_000])
    expect(bytes.length).toBe(60_000)
    expect(bytes.every((byte, n) => byte === (n & 0xff))).toBe(true)
    intake.complete()
    const whole = await intake.buffer(200_000)
    expect(whole?.length).toBe(100_000)
    expect(whole?.every((byte, n) => byte === (n & 0xff))).toBe(true)
  })
})
