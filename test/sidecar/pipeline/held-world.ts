import type { HoldOutcome } from '../../../sidecar/pipeline/ports.ts'
import { waitFor } from '../../support/wait-for.ts'
import { start } from './pipeline-world.ts'
import { type TestExchangeInput, type TestReply, testExchange } from './test-exchange.ts'
import type { Rules, World } from './test-world.ts'

export type Held = {
  readonly world: World
  readonly exchange: ReturnType<typeof testExchange>
  /** The agent's side: the exchange has another reply while it is held. */
  readonly reply: TestReply
  readonly done: Promise<void>
  /** The approver's answer. */
  settle(kind: 'approved' | 'denied' | 'expired' | 'cancelled', note?: string): void
  /** Waits for this text on the agent's side. */
  sent(text: string): Promise<void>
}

const OFTEN = { interval: 5 }

/** Sends a request that is held; events begin at once and come fast, unless the test says otherwise. */
export async function holdRequest(rules: Rules, input: TestExchangeInput, openAfterMs = 1): Promise<Held> {
  const world = await start(rules)
  Object.assign(world.ports, { heldEvents: { openAfterMs, everyMs: 5 } })
  const answer = Promise.withResolvers<HoldOutcome>()
  world.state.onHold = (_hold, signal) => {
    signal.addEventListener('abort', () => answer.resolve({ kind: 'aborted', approvalId: 'apv_9' }))
    return answer.promise
  }
  const exchange = testExchange(input)
  const { reply } = exchange
  const done = world.run(exchange)
  await waitFor(() => {
    if (world.holds.length === 0 && reply.state === 'open') throw new Error('not held yet')
  }, OFTEN)
  return {
    ...{ world, exchange, reply, done },
    settle: (kind, note) =>
      answer.resolve(
        kind === 'approved'
          ? { kind, approvalId: 'apv_9', by: null }
          : { kind, approvalId: 'apv_9', note: note ?? null },
      ),
    sent: (text) =>
      waitFor(() => {
        if (!reply.text().includes(text)) throw new Error(`only ${reply.text()} was sent`)
      }, OFTEN),
  }
}

export type SentEvent = { readonly event: string | null; readonly data: string }

/** The events of a stream as its clients read them: comments and blank lines are none. */
export function eventsIn(text: string): readonly SentEvent[] {
  return text.split(/\n\n|\r\n\r\n/).flatMap((block) => {
    const lines = block.split(/\r\n|[\r\n]/)
    const values = (name: string) =>
      lines
        .filter((line) => line.startsWith(`${name}:`))
        .map((line) => line.slice(name.length + 1).replace(/^ /, ''))
    const data = values('data')
    return data.length === 0 ? [] : [{ event: values('event')[0] ?? null, data: data.join('\n') }]
  })
}

export function dataIn(text: string): readonly Record<string, unknown>[] {
  return eventsIn(text).map(({ data }) => JSON.parse(data))
}
