import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createKillState } from '../../../sidecar/control/kill-switch/kill-state.ts'
import { createLiveExchanges } from '../../../sidecar/control/live-exchanges.ts'
import type { Exchange } from '../../../sidecar/pipeline/exchange.ts'
import { eventually } from '../../support/eventually.ts'
import { createTestClock, startControlWorld } from './control-world.ts'
import { agentEntry } from './fake-control-plane.ts'
import { createTestLog } from './test-log.ts'

const until = (what: string, isMet: () => boolean) => eventually(what, () => (isMet() ? true : null))
const SINCE = '2026-01-01T00:00:00.000Z'
const killSwitch = (scope: string, source = 'api') => ({ scope, source, reason: 'incident', since: SINCE })
const bot = { agent: 'bot', agentId: 'agent_bot', connectors: ['codehost', 'team/hub'] }

/** The fields of an exchange that a kill switch is compared with. */
function exchangeOf(agent: string): Exchange {
  return { abort: new AbortController(), agent: agentEntry(agent) } as unknown as Exchange
}

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-kill-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function killState() {
  const live = createLiveExchanges()
  const log = createTestLog()
  const kill = createKillState({ file: join(dir, 'kill.json'), live, clock: createTestClock(), log })
  return { kill, live, log }
}

describe('the kill state', () => {
  test('is the union of the control plane and local kill switches', () => {
    const { kill } = killState()
    kill.applyRemote([killSwitch('agent:other')])
    expect(kill.match(bot)).toBeNull()
    kill.setLocal('connector:codehost', 'here')
    expect(kill.match(bot)?.source).toBe('gateway:default/local')
    expect(kill.effective()).toHaveLength(2)
    kill.clearLocal('connector:codehost')
    expect(kill.match(bot)).toBeNull()
    expect(kill.effective()).toHaveLength(1)
  })

  test('a local kill switch is not lifted by a control plane that does not have it yet', () => {
    const { kill } = killState()
    kill.setLocal('all', 'here')
    kill.applyRemote([])
    expect(kill.match(bot)?.reason).toBe('here')
    kill.setForwarded(kill.localKillSwitch('all')?.id ?? '')
    expect(kill.match(bot)?.reason).toBe('here')
    kill.applyRemote([])
    expect(kill.match(bot)).toBeNull()
  })

  test('cuts every matching exchange and no other, with the entry as the reason', () => {
    const { kill, live } = killState()
    const [mine, other] = [exchangeOf('bot'), exchangeOf('other')]
    live.add(mine)
    const remove = live.add(other)
    expect(kill.applyRemote([killSwitch('agent:bot')])).toBe(1)
    expect(mine.abort.signal.reason).toMatchObject({ kind: 'kill', entry: { scope: 'agent:bot' } })
    expect(other.abort.signal.aborted).toBe(false)
    remove()
    kill.setLocal('all', '')
    expect(other.abort.signal.aborted).toBe(false)
  })

  test('survives a restart without a control plane', () => {
    const first = killState().kill
    first.setGatewayName('team/edge')
    first.applyRemote([killSwitch('agent:bot')])
    first.setLocal('connector:payments', 'here')
    const { kill } = killState()
    expect(kill.match(bot)?.reason).toBe('incident')
    expect(kill.match({ agent: null, agentId: null, connectors: ['payments'] })?.source).toBe(
      'gateway:team/edge',
    )
    expect(kill.unforwarded().map(({ entry }) => entry.scope)).toEqual(['connector:payments'])
  })

  test('an unreadable stored state covers everything until the control plane sends its state', () => {
    writeFileSync(join(dir, 'kill.json'), '{"remote": [')
    const { kill, log } = killState()
    expect(kill.match(bot)).not.toBeNull()
    expect(log.text()).toContain('kill.json')
    kill.applyRemote([])
    expect(kill.match(bot)).toBeNull()
  })

  test('a scope that names the gateway covers it', () => {
    const { kill } = killState()
    kill.setGatewayName('team/edge')
    kill.applyRemote([killSwitch('gateway:edge')])
    expect(kill.match(bot)?.scope).toBe('gateway:edge')
  })
})

describe('a kill switch from the control plane', () => {
  test('cuts held requests and open streams before it is acknowledged', async () => {
    await using world = await startControlWorld()
    await until('connection', () => world.control.heartbeats.isConnected)
    const exchange = exchangeOf('bot')
    world.live.add(exchange)
    let acksAtCut = -1
    exchange.abort.signal.addEventListener('abort', () => {
      acksAtCut = world.fake.acks.filter((ack) => ack.kill_seq === world.fake.killSeq).length
    })
    const seq = world.fake.kill([killSwitch('all')])
    await until('ack', () => world.fake.acks.some((ack) => ack.kill_seq === seq))
    expect(exchange.abort.signal.aborted).toBe(true)
    expect(acksAtCut).toBe(0)
  })

  test('a local kill switch from an outage of the control plane is forwarded after the reconnect', async () => {
    await using world = await startControlWorld()
    await until('connection', () => world.control.heartbeats.isConnected)
    world.kill.setLocal('agent:bot', 'while away')
    world.fake.dropStreams()
    await until('forwarded', () => world.fake.commands.some(({ command }) => command === 'kill-switch'))
    expect(world.fake.commands[0]).toMatchObject({
      command: 'kill-switch',
      input: { active: true, scope: 'agent:bot', reason: 'while away' },
      stop: { retried_after_ms: expect.any(Number) },
    })
    await until('taken over', () => world.kill.unforwarded().length === 0)
    expect(world.kill.match(bot)?.reason).toBe('while away')
  })
})
