import { describe, expect, test } from 'vitest'
import { createStateWatch } from '../../../controlplane/features/manifests/state-watch.ts'
import { GatewayProcess, OperatorState } from '../../../core/wire/operator/operator.ts'

const process = (changes: object = {}) =>
  GatewayProcess.parse({
    ...{ gateway: 'team/prod', process_id: 'p', covered_version: 1, has_kill_state: true, rejected: null },
    ...changes,
  })

function watched(waitMs = 60_000) {
  let state = OperatorState.parse({ version: 1, kills: [], processes: [process()] })
  const listeners = new Set<() => void>()
  const closing = new AbortController()
  const watch = createStateWatch({
    waitMs,
    read: () => state,
    changes: {
      closing: closing.signal,
      onRead(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    },
  })
  return {
    listeners,
    closing,
    next: (known?: string, ended = new AbortController().signal) => watch.next({ known }, ended),
    nextKills: (known?: string) => watch.next({ known, only: 'kills' }, new AbortController().signal),
    set(changes: Partial<OperatorState>) {
      state = { ...state, ...changes }
      for (const listener of listeners) listener()
    },
  }
}

describe('a long poll of the state', () => {
  test('is answered at once without a known revision, and with another one', async () => {
    const { next, listeners } = watched()
    const { revision } = await next()
    expect((await next('other')).revision).toBe(revision)
    expect(listeners.size).toBe(0)
  })

  test('waits for a change of the state, and not for a version that all processes apply', async () => {
    const { next, set, listeners } = watched()
    const { revision } = await next()
    let answered: OperatorState | null = null
    const answer = next(revision).then((state) => {
      answered = state
    })
    set({ version: 2, processes: [process({ covered_version: 2 })] })
    await new Promise((resolve) => setTimeout(resolve, 250))
    expect(answered).toBeNull()
    set({ processes: [process({ covered_version: 2, rejected: 'bad' })] })
    await answer
    expect(answered).toMatchObject({ version: 2, processes: [{ rejected: 'bad' }] })
    expect(listeners.size).toBe(0)
  })

  test('is answered when a credential begins to fail; a poll of kill switches is not', async () => {
    const { next, nextKills, set } = watched()
    const [known, kills] = [await next(), await nextKills()]
    const answer = next(known.revision)
    const failing = [{ connector: 'team/site', error: 'The source failed.' }]
    set({ failing_credentials: failing })
    expect(await answer).toMatchObject({ failing_credentials: failing })
    const other = await nextKills()
    expect(other).toMatchObject({ revision: kills.revision, failing_credentials: [] })
  })

  test.each(['the limit', 'the end of the request', 'the end of the replica'])('ends with %s', async (by) => {
    const { next, closing, listeners } = watched(by === 'the limit' ? 20 : 60_000)
    const { revision } = await next()
    const ended = new AbortController()
    const answer = next(revision, ended.signal)
    if (by === 'the end of the request') ended.abort()
    if (by === 'the end of the replica') closing.abort()
    expect((await answer).revision).toBe(revision)
    expect(listeners.size).toBe(0)
  })

  test('of kill switches only contains nothing else, and ignores changes of processes', async () => {
    const { nextKills, set } = watched()
    const { revision, ...state } = await nextKills()
    expect(state).toMatchObject({ kills: [], processes: [], refused_pods: [] })
    let answered: OperatorState | null = null
    const answer = nextKills(revision).then((next) => {
      answered = next
    })
    set({ processes: [process({ rejected: 'bad' })] })
    await new Promise((resolve) => setTimeout(resolve, 250))
    expect(answered).toBeNull()
    const kill = { scope: 'all', source: 'dashboard', reason: 'fire', since: '' }
    set({ kills: [kill] })
    await answer
    expect(answered).toMatchObject({ kills: [kill], processes: [] })
  })
})
