import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { EventReply } from '../../../sidecar/pipeline/response/event-reply.ts'
import { testExchange } from './test-exchange.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function start() {
  const { reply: inner } = testExchange()
  const opened = vi.fn()
  const reply = new EventReply(inner, {
    format: { idle: 'i', waiting: (count) => `w${count}`, failure: () => 'f', answerHead: 'data: ' },
    headers: ['Content-Type', 'text/event-stream'],
    ...{ openAfterMs: LIMITS.heldEventsAfterMs, everyMs: LIMITS.heldEventsEveryMs },
    onOpen: opened,
    errorOf: () => ({}),
  })
  return { inner, reply, opened }
}

describe('the reply of a held request', () => {
  it('begins after 10 s and continues every 15 s', () => {
    const { inner, reply, opened } = start()
    vi.advanceTimersByTime(9_999)
    expect(inner.state).toBe('open')
    expect(reply.events).toBeUndefined()
    vi.advanceTimersByTime(1)
    expect(inner).toMatchObject({ status: 200, state: 'streaming' })
    expect(opened).toHaveBeenCalledTimes(1)
    expect(inner.text()).toBe('w1')
    vi.advanceTimersByTime(14_999)
    expect(inner.text()).toBe('w1')
    vi.advanceTimersByTime(1)
    vi.advanceTimersByTime(15_000)
    expect(inner.text()).toBe('w1w2w3')
    expect(opened).toHaveBeenCalledTimes(1)
    expect(reply.isStarted).toBe(false)
  })

  it('continues without the note of the approver after the verdict, until the response begins', () => {
    const { inner, reply } = start()
    vi.advanceTimersByTime(10_000)
    reply.released()
    vi.advanceTimersByTime(15_000)
    expect(inner.text()).toBe('w1i')
    reply.stream(200, ['Content-Type', 'text/event-stream'], true).write(Buffer.from('x'))
    expect(reply.isStarted).toBe(true)
    vi.advanceTimersByTime(60_000)
    expect(inner.text()).toBe('w1ix')
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([
    ['an approver answered', (reply: EventReply) => reply.released()],
    ['it was sent', (reply: EventReply) => reply.send(403, [], 'no')],
    ['it was streamed', (reply: EventReply) => void reply.stream(200, [], true)],
    ['it was stopped', (reply: EventReply) => reply.stop()],
  ])('never begins when %s before', (_what, settle) => {
    const { inner, reply, opened } = start()
    vi.advanceTimersByTime(9_000)
    settle(reply)
    const { state, status } = inner
    vi.advanceTimersByTime(60_000)
    expect(opened).not.toHaveBeenCalled()
    expect(inner).toMatchObject({ state, status })
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([
    ['sent', 'ended', (reply: EventReply) => reply.send(403, [], 'no')],
    ['cut', 'destroyed', (reply: EventReply) => reply.events?.cut()],
  ] as const)('writes nothing more once it was %s', (_what, state, settle) => {
    const { inner, reply } = start()
    vi.advanceTimersByTime(10_000)
    settle(reply)
    const text = inner.text()
    vi.advanceTimersByTime(60_000)
    expect(inner.text()).toBe(text)
    expect(inner.state).toBe(state)
    expect(reply.isStarted).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
    expect(() => reply.send(200, [], 'again')).toThrow('already answered')
  })

  it('has no interim answers within the stream', () => {
    const { inner, reply } = start()
    reply.interim(103, [])
    vi.advanceTimersByTime(10_000)
    reply.interim(103, [])
    expect(inner.interims).toEqual([103])
  })
})
