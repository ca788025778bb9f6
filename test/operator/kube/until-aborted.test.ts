import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { untilAborted } from '../../../operator/kube/until-aborted.ts'

describe('waiting for work until a signal is aborted', () => {
  test.each<[string, () => Promise<unknown>, boolean | string]>([
    ['resolves', () => Promise.resolve(), true],
    ['rejects', () => Promise.reject(new Error('lost')), 'lost'],
  ])('leaves no listener on the signal when the work %s', async (_what, work, wanted) => {
    const { signal } = new AbortController()
    const ended = await untilAborted(work(), signal).catch((error: Error) => error.message)
    expect(ended).toBe(wanted)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('ends with false when the signal is aborted first, and leaves no listener', async () => {
    const stopped = new AbortController()
    const waiting = untilAborted(new Promise(() => undefined), stopped.signal)
    stopped.abort()
    expect(await waiting).toBe(false)
    expect(await untilAborted(Promise.resolve(), stopped.signal)).toBe(false)
    expect(getEventListeners(stopped.signal, 'abort')).toEqual([])
  })
})
