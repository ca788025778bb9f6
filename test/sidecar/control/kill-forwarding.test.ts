import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { CommandBody, CommandReply } from '../../../core/wire/gateway/commands.ts'
import type { KillStateMessage } from '../../../core/wire/gateway/kill.ts'
import { createKillForwarding } from '../../../sidecar/control/kill-switch/kill-forwarding.ts'
import { createKillState } from '../../../sidecar/control/kill-switch/kill-state.ts'
import { createLiveExchanges } from '../../../sidecar/control/live-exchanges.ts'
import { createTestLog } from './test-log.ts'

/* The gateway's own stops on their way to a control plane that answers as the test says, on a clock that only it moves. */
type Sent = Extract<CommandBody, { command: 'kill-switch' }>
type Answer = (sent: Sent) => CommandReply | Promise<CommandReply>
const STORED = (revision: number): CommandReply => ({
  status: 200,
  body: { ok: true, order: { epoch: 5, revision } },
})
const NOT_STORED: CommandReply = { status: 200, body: { ok: true, stored: false } }
const AWAY: CommandReply = { status: 503, body: { error: 'away' } }
const SINCE = '2026-01-01T00:00:00.000Z'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-forward-'))
  vi.useFakeTimers({ now: 1_800_000_000_000 })
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(dir, { recursive: true, force: true })
})

function world(first: Answer = () => AWAY) {
  const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
  const kill = createKillState({
    file: join(dir, 'kill.json'),
    live: createLiveExchanges(),
    clock,
    log: createTestLog(),
  })
  const sent: Sent[] = []
  const state = { answer: first }
  const stops = createKillForwarding({
    ...{ kill, random: () => 0.5, nowMs: clock.nowMs },
    commands: async (command) => {
      sent.push(command as Sent)
      return state.answer(command as Sent)
    },
  })
  const set = (scope: string, reason = 'here') => {
    kill.setLocal(scope, reason)
    return stops.activate(scope)
  }
  const receive = (revision: number, changes: Partial<KillStateMessage> = {}) =>
    kill.applyRemote([], {
      ...{ order: { epoch: 5, revision }, stored: [], announced: [], settled: [] },
      ...changes,
    })
  return { kill, sent, state, stops, set, receive, scopes: () => kill.effective().map(({ scope }) => scope) }
}
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
const announced = (id: string, scope: string) => ({
  id: `gw_1:${id}`,
  entry: { scope, source: 'gateway:default/local', reason: 'here', since: SINCE },
  proof: 'p',
})
const stored = (scope: string) => ({ scope, source: 'gateway:default/local', reason: 'here', since: SINCE })

describe.each<[string, Answer]>([
  ['has it in memory only', () => NOT_STORED],
  ['is away', () => AWAY],
  ['answers nonsense', () => ({ status: 502, body: {} })],
  [
    'refuses the repetition',
    (sent) => (sent.stop?.retried_after_ms === undefined ? AWAY : { status: 400, body: {} }),
  ],
])('a kill switch that was activated here while the control plane %s', (_, answer) => {
  test('is forwarded with one id until it is stored, with growing pauses', async () => {
    const { sent, state, set, kill, receive, scopes } = world(answer)
    await set('all')
    await pass(0)
    expect(sent).toHaveLength(1)
    expect(sent[0]?.stop?.retried_after_ms).toBeUndefined()
    await pass(2_000)
    expect(sent.length).toBeGreaterThan(1)
    expect(sent[1]?.stop?.retried_after_ms).toBeGreaterThan(0)
    await pass(600_000)
    const tried = sent.length
    expect(tried).toBeGreaterThan(20)
    expect(tried).toBeLessThan(45)
    expect(new Set(sent.map(({ stop }) => stop?.id)).size).toBe(1)
    expect(sent.at(-1)?.stop?.retried_after_ms).toBeGreaterThan(500_000)
    expect(scopes()).toEqual(['all'])
    state.answer = () => STORED(7)
    await pass(31_000)
    expect(sent).toHaveLength(tried + 1)
    expect(kill.unforwarded()).toEqual([])
    receive(6)
    expect(scopes()).toEqual(['all'])
    receive(7, { stored: [stored('all')] })
    receive(8)
    expect(scopes()).toEqual([])
    await pass(600_000)
    expect(sent).toHaveLength(tried + 1)
  })
})

describe('a local kill switch that the control plane has stored', () => {
  test.each([
    ['stored and lifted', [7, 8]],
    ['stored', [7]],
    ['stored, lifted and others since', [7, 8, 9, 12]],
  ])('ends with its lift though its states came before the answer: %s', async (_, revisions) => {
    const { state, set, receive, scopes } = world()
    receive(6)
    state.answer = () => {
      for (const revision of revisions) receive(revision, revision === 7 ? { stored: [stored('all')] } : {})
      return STORED(7)
    }
    await set('all')
    expect(scopes()).toEqual(revisions.length === 1 ? ['all'] : [])
    receive(13)
    expect(scopes()).toEqual([])
  })

  test('stays until the state that contains it, whatever states arrive before', async () => {
    const { state, set, receive, scopes } = world()
    receive(3)
    state.answer = () => STORED(7)
    await set('all')
    for (const revision of [4, 5, 2, 6]) {
      receive(revision)
      expect(scopes()).toEqual(['all'])
    }
    receive(7, { stored: [stored('all')] })
    expect(scopes()).toEqual(['all'])
    receive(8)
    expect(scopes()).toEqual([])
  })

  test('stays until a later state with a control plane of an earlier version', async () => {
    const { state, set, receive, scopes } = world()
    receive(3)
    state.answer = () => ({ status: 200, body: { ok: true } })
    await set('all')
    receive(3)
    expect(scopes()).toEqual(['all'])
    receive(4)
    expect(scopes()).toEqual([])
  })
})

describe('the announcement of a local kill switch', () => {
  test.each([
    ['is announced', (id: string) => ({ announced: [announced(id, 'all')] })],
    ['is settled', (id: string) => ({ settled: [`gw_1:${id}`] })],
    [
      'is announced and settled',
      (id: string) => ({ announced: [announced(id, 'all')], settled: [`gw_1:${id}`] }),
    ],
  ])('takes its place when it %s: it is forwarded no more and ends with it', async (_, changes) => {
    const { sent, set, kill, receive, scopes } = world(() => NOT_STORED)
    await set('all')
    const id = kill.localKillSwitch('all')?.id ?? ''
    const message = changes(id)
    receive(4, message)
    const isOpen = !('settled' in message)
    expect(scopes()).toEqual(isOpen ? ['all'] : [])
    await pass(120_000)
    expect(sent).toHaveLength(1)
    receive(5, { settled: [`gw_1:${id}`] })
    expect(scopes()).toEqual([])
    await pass(120_000)
    expect(sent).toHaveLength(1)
  })

  test.each([
    ['of another number', (id: string) => `gw_1:${randomUUID()}${id.slice(0, 0)}`],
    ['without the gateway', (id: string) => id],
    ['of a part of it', (id: string) => `gw_1:${id.slice(1)}`],
    ['with something behind', (id: string) => `gw_1:${id}0`],
    ['of nothing', () => 'gw_1:'],
  ])('does not end it when it is one %s', async (_, other) => {
    const { set, kill, receive, scopes } = world(() => NOT_STORED)
    await set('all')
    receive(4, { settled: [other(kill.localKillSwitch('all')?.id ?? '')] })
    expect(scopes()).toEqual(['all'])
  })
})

describe('a lift of a local kill switch', () => {
  test('names its id, so that a delayed attempt does not activate it again', async () => {
    const { sent, state, set, stops, kill, scopes } = world(() => NOT_STORED)
    await set('all')
    state.answer = () => STORED(9)
    await stops.lift('all', '')
    expect(sent.at(-1)).toMatchObject({
      input: { active: false, scope: 'all' },
      stop: { id: sent[0]?.stop?.id },
    })
    expect([scopes(), kill.unforwarded()]).toEqual([[], []])
    await pass(120_000)
    expect(sent).toHaveLength(2)
  })

  test('keeps a kill switch that is activated during the lift, which is forwarded afterwards', async () => {
    const { sent, state, set, stops, scopes } = world(() => STORED(3))
    await set('all')
    const { promise, resolve } = Promise.withResolvers<CommandReply>()
    state.answer = (one) => ((one.input as { active: boolean }).active ? STORED(9) : promise)
    const lift = stops.lift('all', '')
    const again = set('all', 'again')
    await pass(0)
    expect(sent.map(({ input }) => (input as { active: boolean }).active)).toEqual([true, false])
    resolve(STORED(8))
    await lift
    await again
    expect(scopes()).toEqual(['all'])
    expect(sent.at(-1)?.input).toMatchObject({ active: true, reason: 'again' })
    expect(sent.at(-1)?.stop?.id).not.toBe(sent[0]?.stop?.id)
  })

  test('does not wait for attempts of other scopes', async () => {
    const { state, set, stops } = world()
    state.answer = (one) =>
      (one.input as { scope: string }).scope === 'agent:x' ? new Promise(() => undefined) : STORED(2)
    void set('agent:x')
    await set('all')
    expect((await stops.lift('all', '')).status).toBe(200)
  })
})

test('a kill switch that was not stored is forwarded after a restart with the same id', async () => {
  const first = world()
  await first.set('all')
  const id = first.kill.localKillSwitch('all')?.id
  first.stops.close()
  await pass(3_600_000)
  expect(first.sent).toHaveLength(1)
  const { sent, stops } = world(() => STORED(2))
  stops.wake()
  await pass(0)
  expect(sent.map(({ stop }) => stop)).toEqual([{ id, retried_after_ms: 3_600_000 }])
  await pass(600_000)
  expect(sent).toHaveLength(1)
})
