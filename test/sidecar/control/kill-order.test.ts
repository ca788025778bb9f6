import fs, { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { KillStateMessage } from '../../../core/wire/gateway/kill.ts'
import { emptyKillFile, readKillFile, writeKillFile } from '../../../sidecar/control/kill-switch/kill-file.ts'
import { createKillState } from '../../../sidecar/control/kill-switch/kill-state.ts'
import { createLiveExchanges } from '../../../sidecar/control/live-exchanges.ts'
import { eventually } from '../../support/eventually.ts'
import { createTestClock, startControlWorld } from './control-world.ts'
import { agentEntry } from './fake-control-plane.ts'
import { createTestLog } from './test-log.ts'

const SINCE = '2026-01-01T00:00:00.000Z'
const stop = (scope: string, source = 'api') => ({ scope, source, reason: 'incident', since: SINCE })
const announce = (id: string, scope: string) => ({ id, entry: stop(scope), proof: 'p' })
const message = (
  epoch: number,
  revision: number,
  changes: Partial<KillStateMessage> = {},
): KillStateMessage => ({
  ...{ order: { epoch, revision }, stored: [], announced: [], settled: [] },
  ...changes,
})

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-order-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))
const killState = () =>
  createKillState({
    ...{
      file: join(dir, 'kill.json'),
      live: createLiveExchanges(),
      clock: createTestClock(),
      log: createTestLog(),
    },
  })
const scopes = (kill: ReturnType<typeof killState>) => kill.effective().map(({ scope }) => scope)

describe('kill states in database order', () => {
  const known = message(5, 10, { stored: [stop('all')] })
  test.each<[string, KillStateMessage, string[]]>([
    ['an earlier revision', message(5, 9), ['all']],
    ['an earlier epoch with a later revision', message(4, 99), ['all']],
    ['the same state', message(5, 10, { stored: [stop('all')] }), ['all']],
    ['a later revision', message(5, 11), []],
    ['a later epoch with an earlier revision', message(6, 1), []],
    ['an earlier revision with another stop', message(5, 9, { stored: [stop('agent:x')] }), ['all']],
    [
      'an earlier revision that announces',
      message(5, 9, { announced: [announce('1', 'agent:x')] }),
      ['agent:x', 'all'],
    ],
    [
      'a later revision that announces',
      message(5, 11, { announced: [announce('1', 'agent:x')] }),
      ['agent:x'],
    ],
    ['an earlier one that settles what is unknown', message(5, 9, { settled: ['9'] }), ['all']],
  ])('%s', (_, next, expected) => {
    const kill = killState()
    kill.applyRemote([], known)
    kill.applyRemote([], next)
    expect(scopes(kill)).toEqual(expected)
    // The same after a restart, and once more.
    expect(scopes(killState())).toEqual(expected)
    const again = killState()
    again.applyRemote([], next)
    expect(scopes(again)).toEqual(expected)
  })

  test('an announced kill switch stays until its id is settled, whatever states arrive, and then does not return', () => {
    const kill = killState()
    kill.applyRemote([], message(5, 1, { announced: [announce('1', 'all')] }))
    for (const next of [message(5, 2), message(6, 1), message(6, 2, { settled: ['2'] })]) {
      kill.applyRemote([], next)
      expect(scopes(kill)).toEqual(['all'])
    }
    expect(kill.report()).toEqual({
      kill_order: { epoch: 6, revision: 2 },
      announced: [announce('1', 'all')],
    })
    const restarted = killState()
    expect(scopes(restarted)).toEqual(['all'])
    restarted.applyRemote([], message(6, 3, { settled: ['1'] }))
    expect(scopes(restarted)).toEqual([])
    expect(restarted.report()).toEqual({ kill_order: { epoch: 6, revision: 3 } })
    // The replica that announced it lags.
    restarted.applyRemote([], message(5, 1, { announced: [announce('1', 'all')] }))
    expect(scopes(restarted)).toEqual([])
    const last = killState()
    last.applyRemote([], message(5, 1, { announced: [announce('1', 'all')] }))
    expect(scopes(last)).toEqual([])
  })

  test('a forwarded local kill switch stays until a later state arrives', () => {
    const kill = killState()
    kill.applyRemote([], message(5, 10))
    kill.setLocal('all', 'here')
    kill.setForwarded(kill.localKillSwitch('all')?.id ?? '')
    expect(kill.unforwarded()).toEqual([])
    for (const next of [message(5, 9), message(5, 10)]) {
      kill.applyRemote([], next)
      expect(scopes(kill)).toEqual(['all'])
    }
    kill.applyRemote([], message(5, 11))
    expect(scopes(kill)).toEqual([])
  })

  test('the file of an earlier version is read and applies until the first state', () => {
    writeFileSync(
      join(dir, 'kill.json'),
      JSON.stringify({ gateway: 'a/b', remote: [stop('all')], local: [] }),
    )
    const kill = killState()
    expect(scopes(kill)).toEqual(['all'])
    kill.applyRemote([], message(5, 1))
    expect(scopes(kill)).toEqual([])
    expect(JSON.parse(readFileSync(join(dir, 'kill.json'), 'utf8')).order).toEqual({ epoch: 5, revision: 1 })
  })

  test('the state of a control plane of an earlier version is applied as it is', () => {
    const kill = killState()
    kill.applyRemote([], message(5, 10, { stored: [stop('all')] }))
    kill.applyRemote([])
    expect(scopes(kill)).toEqual([])
  })
})

describe('a gateway', () => {
  const until = (what: string, isMet: () => boolean) => eventually(what, () => (isMet() ? true : null))
  test('answers an earlier kill state with its own order and does not acknowledge it', async () => {
    await using world = await startControlWorld()
    await until('connection', () => world.control.heartbeats.isConnected)
    const send = (seq: number, state: KillStateMessage) =>
      world.fake.send({ type: 'kill', seq, effective: state.stored, state })
    send(101, message(5, 10, { stored: [stop('all')] }))
    send(102, message(5, 9, { stored: [stop('agent:other')] }))
    const last = () => world.fake.acks.at(-1)
    await until('answer', () => world.fake.acks.filter((ack) => ack.kill_order?.revision === 10).length >= 2)
    expect(world.fake.acks.some((ack) => ack.kill_seq === 101)).toBe(true)
    expect(world.fake.acks.some((ack) => ack.kill_seq === 102)).toBe(false)
    expect(last()?.kill_order).toEqual({ epoch: 5, revision: 10 })
  })

  test('reports an announced kill switch until it is settled', async () => {
    await using world = await startControlWorld()
    await until('connection', () => world.control.heartbeats.isConnected)
    const given = () => world.fake.acks.filter(({ announced }) => announced?.[0]?.id === 'x').length
    const send = (state: KillStateMessage) =>
      world.fake.send({ type: 'kill', seq: 101, effective: [], state })
    send(message(5, 10, { announced: [announce('x', 'all')] }))
    await eventually('given back again and again', () => (given() >= 4 ? true : null))
    expect(world.kill.effective()).toHaveLength(1)
    send(message(5, 11, { settled: ['x'] }))
    await until('settled', () => world.kill.effective().length === 0)
  })

  test('ignores an older configuration and reports its own', async () => {
    await using world = await startControlWorld()
    await until('snapshot', () => world.control.snapshots.current() !== null)
    const configure = (revision: number, agent: string) => {
      world.fake.configure({ agents: [agentEntry(agent)] }, { isAnnounced: false })
      world.fake.send({ ...world.fake.sectionIndex(), order: { epoch: 5, revision } })
    }
    configure(10, 'later')
    await until('later', () => world.control.snapshots.current()?.agentsByName.has('later') === true)
    const before = world.fake.acks.length
    configure(9, 'earlier')
    await until('answer', () => world.fake.acks.length > before)
    expect(world.fake.acks.at(-1)?.config_order).toEqual({ epoch: 5, revision: 10 })
    expect(world.control.snapshots.current()?.agentsByName.has('earlier')).toBe(false)
    configure(1, 'next epoch')
    world.fake.send({ ...world.fake.sectionIndex(), order: { epoch: 6, revision: 1 } })
    await until('next', () => world.control.snapshots.current()?.agentsByName.has('next epoch') === true)
  })
})

describe('announcements that exceed one acknowledgement', () => {
  const announcements = (count: number, reason = 'incident') =>
    Array.from({ length: count }, (_, at) => {
      const { entry, ...rest } = announce(`id${at}`, `agent:a${at}`)
      return { ...rest, entry: { ...entry, reason }, proof: 'ab'.repeat(32) }
    })

  test.each([
    ['many', 4_000, 'incident'],
    ['long', 900, 'r'.repeat(1_000)],
    ['long in UTF-8', 900, '\u{1f6d1}'.repeat(500)],
    ['long in JSON', 300, '\u0001'.repeat(1_000)],
    ['longer than an acknowledgement', 3, 'r'.repeat(400_000)],
  ])('are reported in turns: %s', (_, count, reason) => {
    const kill = killState()
    kill.applyRemote([], message(5, 10, { announced: announcements(count, reason) }))
    expect(scopes(kill)).toHaveLength(count)
    const reported = new Set<string>()
    for (let turn = 0; turn < count && reported.size < count; turn++) {
      const { announced = [] } = kill.report()
      expect(announced.length).toBeLessThanOrEqual(1_000)
      expect(Buffer.byteLength(JSON.stringify(announced))).toBeLessThan(768 * 1024)
      for (const { id } of announced) reported.add(id)
      // Looking whether there are any takes no turn.
      expect(kill.hasAnnounced()).toBe(true)
    }
    expect(reported.size).toBe(count)
  })

  test('are reported even if earlier ones are never settled, and not after they are settled', () => {
    const kill = killState()
    kill.applyRemote([], message(5, 10, { announced: announcements(1_200) }))
    const settled = Array.from({ length: 1_199 }, (_, at) => `id${at + 1}`)
    kill.applyRemote([], message(5, 11, { settled }))
    for (let turn = 0; turn < 3; turn++) expect(kill.report().announced?.map(({ id }) => id)).toEqual(['id0'])
    kill.applyRemote([], message(5, 12, { settled: ['id0'] }))
    expect([kill.hasAnnounced(), kill.report().announced]).toEqual([false, undefined])
  })
})

describe('more settled announcements than a gateway stores', () => {
  const ids = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `id${from + at}`)

  test('are all settled, also when they arrive at once', () => {
    const kill = killState()
    const announced = ids(1_064).map((id) => announce(id, `agent:${id}`))
    kill.applyRemote([], message(5, 10, { announced }))
    kill.applyRemote([], message(5, 11, { settled: ids(1_064) }))
    expect(scopes(kill)).toEqual([])
    kill.applyRemote([], message(5, 12, { announced, settled: ids(1_064) }))
    expect(scopes(kill)).toEqual([])
  })

  test('an evicted one takes effect again when a replica repeats it, is reported, and ends once it is settled', () => {
    const kill = killState()
    kill.applyRemote([], message(5, 10, { settled: ids(1) }))
    kill.applyRemote([], message(5, 11, { settled: ids(999, 1) }))
    kill.applyRemote([], message(5, 12, { announced: [announce('id0', 'all')] }))
    expect(scopes(kill)).toEqual([])
    kill.applyRemote([], message(5, 13, { settled: ids(1, 1_000) }))
    kill.applyRemote([], message(5, 14, { announced: [announce('id0', 'all')] }))
    expect(scopes(kill)).toEqual(['all'])
    expect(kill.report().announced?.map(({ id }) => id)).toEqual(['id0'])
    kill.applyRemote([], message(5, 14, { settled: ['id0'] }))
    expect(scopes(kill)).toEqual([])
  })
})

test('the kill state file is flushed before the rename, and its folder afterwards', () => {
  const calls: string[] = []
  const path = join(dir, 'kill.json')
  const { renameSync, fsyncSync, writeFileSync } = fs
  const real = { renameSync, fsyncSync, writeFileSync }
  const spy = (name: keyof typeof real) => {
    fs[name] = ((...given: unknown[]) => {
      const options = given[2] as { flush?: boolean } | undefined
      calls.push(options?.flush === true ? `${name} flush` : name)
      return Reflect.apply(real[name], fs, given)
    }) as never
  }
  for (const name of ['renameSync', 'fsyncSync', 'writeFileSync'] as const) spy(name)
  syncBuiltinESMExports()
  try {
    writeKillFile(path, emptyKillFile('default/local'))
  } finally {
    Object.assign(fs, real)
    syncBuiltinESMExports()
  }
  expect(calls).toEqual(['writeFileSync flush', 'fsyncSync', 'renameSync', 'fsyncSync'])
  expect(readKillFile(path)?.gateway).toBe('default/local')
})
