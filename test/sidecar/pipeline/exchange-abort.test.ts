import { describe, expect, it } from 'vitest'
import { createExchangeAbort, type ExchangeAbort } from '../../../sidecar/pipeline/exchange-abort.ts'

/** Whatever is written for the one must hold for the other: a real controller is used where Node asks for it. */
const KINDS: ReadonlyArray<readonly [string, () => ExchangeAbort]> = [
  ['our own', createExchangeAbort],
  ['a real AbortController', () => new AbortController()],
]

describe.each(KINDS)('%s', (_name, create) => {
  it('fires once, with its first reason', () => {
    const { signal, abort } = bound(create())
    const reasons: unknown[] = []
    signal.addEventListener('abort', () => reasons.push(signal.reason), { once: true })
    expect(signal.aborted).toBe(false)
    abort('first')
    abort('second')
    expect(reasons).toEqual(['first'])
    expect(signal.aborted).toBe(true)
    expect(signal.reason).toBe('first')
  })

  it('throws its reason from then on, and nothing before', () => {
    const { signal, abort } = bound(create())
    expect(() => signal.throwIfAborted()).not.toThrow()
    const reason = new Error('the agent disconnected')
    abort(reason)
    expect(() => signal.throwIfAborted()).toThrow(reason)
  })

  it('calls every listener that was not taken away, in their order', () => {
    const { signal, abort } = bound(create())
    const called: string[] = []
    const second = () => called.push('second')
    signal.addEventListener('abort', () => called.push('first'))
    signal.addEventListener('abort', second)
    signal.addEventListener('abort', () => called.push('third'))
    signal.removeEventListener('abort', second)
    signal.removeEventListener('abort', () => undefined)
    abort('over')
    expect(called).toEqual(['first', 'third'])
  })

  it('is an AbortError without a given reason', () => {
    const { signal, abort } = bound(create())
    abort()
    expect(signal.reason).toMatchObject({ name: 'AbortError' })
  })
})

function bound(given: ExchangeAbort): ExchangeAbort {
  return { signal: given.signal, abort: (reason) => given.abort(reason) }
}
