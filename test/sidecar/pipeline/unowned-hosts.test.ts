import { afterEach, describe, expect, it } from 'vitest'
import { replyJson } from '../../support/recorder.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import { type Rules, startWorld, type World } from './test-world.ts'

const open: World[] = []
afterEach(async () => {
  for (const world of open.splice(0)) await world[Symbol.asyncDispose]()
})

const TWO_AGENTS: Rules = {
  agents: [{ name: 'builder' }, { name: 'other', id: 'agt_other' }],
  permissions: [['codehost.*', 'allow']],
}

async function start(rules: Rules = TWO_AGENTS): Promise<World> {
  const world = await startWorld(rules)
  open.push(world)
  return world
}

const connect = (host: string, agent = 'builder'): TestExchangeInput => ({
  ...{ method: 'CONNECT', target: `${host}:443`, kind: 'tunnel', host: `${host}:443` },
  credentials: { kind: 'port', agent },
})

describe('refusals of hosts that no connector owns', () => {
  it('leave one record for each agent and name, whichever protocol the agent uses', async () => {
    const world = await start()
    for (let n = 0; n < 5; n++) {
      await world.send(connect('telemetry.example'))
      await world.send({ host: 'telemetry.example', target: `/${n}` })
      await world.send({ host: 'Telemetry.Example:8443', target: `/${n}` })
      await world.send({ host: 'telemetry.example', target: `/${n}`, scheme: 'http' })
      await world.send(connect('updates.example'))
      await world.send(connect('telemetry.example', 'other'))
    }
    const shown = world.records.map(({ agent, host, reason }) => `${agent} ${host} ${reason}`)
    expect(shown.sort()).toEqual([
      'builder telemetry.example unknown_host',
      'builder updates.example unknown_host',
      'other telemetry.example unknown_host',
    ])
    expect(world.counted).toHaveLength(27)
    expect(world.upstream.connections).toBe(0)
  })

  it('are counted by one row of the hour, and every answer names the record of the host', async () => {
    const world = await start()
    const ids: (string | undefined)[] = []
    for (let n = 0; n < 4; n++) {
      ids.push((await world.send(connect('telemetry.example'))).reply.header('x-service-record'))
      world.clock.aheadMs += 600_000
    }
    expect(new Set(ids)).toEqual(new Set([world.records[0]?.id]))
    expect([...world.grown.values()]).toMatchObject([
      { host: 'telemetry.example', refusals: { count: 3, targets: ['telemetry.example'] } },
    ])
    world.clock.aheadMs += 1_800_001
    await world.send(connect('telemetry.example'))
    expect(world.records.filter(({ refusals }) => refusals == null)).toHaveLength(2)
    expect(world.records.filter(({ refusals }) => refusals != null)).toHaveLength(1)
  })

  it('are bounded: 5,000 names leave at most 300 records, and the last denied action has its own', async () => {
    const world = await start({ permissions: [['codehost.*', 'deny']] })
    for (let n = 0; n < 5_000; n++) await world.send(connect(`h${n}.example`))
    await world.send({ method: 'PUT', target: '/repos/acme/site/pulls/7/merge' })
    expect(world.records.at(-1)).toMatchObject({ action_type: 'codehost.pr.merge' })
    world.refusals.close()
    expect(world.records.length).toBeLessThanOrEqual(301)
    const counted = world.records.reduce((sum, { refusals }) => sum + (refusals?.count ?? 1), 0)
    expect(counted).toBe(5_001)
  })

  it('take nothing of the limit of the agent, and are no 429 when the limit is used up', async () => {
    const world = await start()
    let taken = 0
    const { rate } = world.ports
    Object.assign(rate, {
      take: () => {
        taken++
        return world.state.rate
      },
    })
    for (let n = 0; n < 200; n++) await world.send(connect(`h${n % 7}.example`))
    expect(taken).toBe(0)
    world.upstream.answerWith(replyJson({}))
    expect((await world.send({ target: '/repos/acme/site/issues' })).reply.status).toBe(200)
    expect(taken).toBe(1)
    world.state.rate = { ok: false, retryAfterS: 7 }
    expect((await world.send(connect('h1.example'))).reply.status).toBe(403)
    expect((await world.send({ host: 'h1.example', target: '/' })).reply.status).toBe(403)
    expect((await world.send({ target: '/repos/acme/site/issues' })).reply.status).toBe(429)
  })

  it('stay within the limit where the host is allowed', async () => {
    const world = await start({ gateway: { enforcementLevel: 'monitor' } })
    world.state.rate = { ok: false, retryAfterS: 7 }
    expect((await world.send(connect('h1.example'))).reply.status).toBe(429)
  })
})
