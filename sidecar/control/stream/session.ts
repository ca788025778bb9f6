import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import type { ControlClient, StreamReply } from '../client/client.ts'
import { createLineSplitter } from './line-splitter.ts'
import {
  createMessageDispatcher,
  type MessageDispatcherDeps,
  type StreamHandlers,
} from './message-dispatcher.ts'
import { createMacCheck } from './message-mac.ts'

/** A stream from one replica of the control plane. */
export type Session = {
  /** Resolves with the reason when the stream could not be opened, has ended, or was closed. Never rejects. */
  readonly ended: Promise<unknown>
  /** True from the `hello` message to the end of the stream. */
  readonly isOpen: boolean
  /** True once `ended` has resolved. */
  readonly isEnded: boolean
  close(reason?: unknown): void
}

export type SessionDeps = {
  readonly client: Pick<ControlClient, 'open'>
  readonly log: MessageDispatcherDeps['log']
}

/**
 * Opens a stream immediately. Heartbeats and section indexes count only when they are signed with the token that opened
 * this stream.
 */
export function openSession({ client, log }: SessionDeps, handlers: StreamHandlers): Session {
  const closed = new AbortController()
  let isOpen = false
  let isEnded = false

  async function read(): Promise<never> {
    const reply = await client.open(SYNC_PATHS.stream, closed.signal)
    const { status, body, bearer } = reply
    if (status !== 200) throw refusal(reply)
    const receive = createMessageDispatcher({
      log,
      checkMac: createMacCheck(bearer),
      handlers: {
        ...handlers,
        hello(message) {
          isOpen = true
          handlers.hello(message)
        },
      },
    })
    const splitter = createLineSplitter()
    for await (const chunk of body) receive(splitter.push(chunk))
    throw new Error('the control plane ended the stream')
  }

  const ended = read().catch((error: unknown) => {
    isOpen = false
    isEnded = true
    closed.abort()
    return error
  })
  return {
    ended,
    get isOpen() {
      return isOpen
    },
    get isEnded() {
      return isEnded
    },
    close: (reason) => closed.abort(reason),
  }
}

/** Longest wait in seconds that the gateway accepts from `Retry-After`. */
const MAX_RETRY_AFTER_S = 60

/**
 * Error for a control plane that does not admit the stream yet, because many gateways connect. `retryAfterS` is the
 * time until the next attempt in seconds.
 */
export class StreamDeferred extends Error {
  override readonly name = 'StreamDeferred'
  readonly retryAfterS: number

  constructor(status: number, retryAfterS: number) {
    super(`the control plane answered ${status}; the gateway connects again later`)
    this.retryAfterS = retryAfterS
  }
}

function refusal({ status, retryAfterS }: StreamReply): Error {
  if (retryAfterS !== undefined && retryAfterS > 0)
    return new StreamDeferred(status, Math.min(retryAfterS, MAX_RETRY_AFTER_S))
  if (status !== 401 && status !== 403) return new Error(`the control plane answered ${status}`)
  return new Error(
    `the control plane does not accept this gateway's token (${status}): check that GATEWAY_TOKEN_FILE holds the token of an enrolled gateway, and that CONTROL_PLANE_URL is the address of its control plane`,
  )
}
