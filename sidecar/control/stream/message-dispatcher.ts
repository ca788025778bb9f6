import { DownMessage } from '../../../core/wire/gateway/sync.ts'
import type { Log } from '../../process/log.ts'
import type { MacCheck } from './message-mac.ts'

export type Message<T extends DownMessage['type']> = Extract<DownMessage, { type: T }>
export type SignedMessage = Message<'sections' | 'beat'>

/**
 * Handlers of the messages of a stream. The handlers are called in the order of arrival, except that within one chunk
 * `hello` comes first, then kill switches.
 */
export type StreamHandlers = {
  hello(message: Message<'hello'>): void
  /** Called for a section index, only when its signature is valid. */
  sections(message: Message<'sections'>): void
  beat(message: Message<'beat'>): void
  kill(message: Message<'kill'>): void
  verdict(message: Message<'verdict'>): void
  execute(message: Message<'execute'>): void
  quota(message: Message<'quota'>): void
  instance(message: Message<'instance'>): void
  /** Called when the control plane shuts down. The gateway must reconnect within `after_ms` milliseconds. */
  goaway(message: Message<'goaway'>): void
}

export type MessageDispatcherDeps = {
  readonly handlers: StreamHandlers
  readonly checkMac: MacCheck
  readonly log: Pick<Log, 'warn' | 'error'>
}

/**
 * Parses lines of the stream and calls the handlers. Logs and skips invalid messages, and ignores messages without
 * the signature of the control plane that enrolled this gateway.
 */
export function createMessageDispatcher({
  handlers,
  checkMac,
  log,
}: MessageDispatcherDeps): (lines: readonly string[]) => void {
  function parse(text: string): DownMessage | null {
    const parsed = DownMessage.safeParse(jsonOrNull(text))
    if (parsed.success) return parsed.data
    const issue = parsed.error.issues[0]?.message
    log.warn(
      { issue },
      'an invalid message of the control plane was ignored; check that the control plane supports the version of this gateway',
    )
    return null
  }

  function isSigned(message: SignedMessage): boolean {
    if (checkMac(message)) return true
    const { type, version } = message
    log.error(
      { type, version },
      'a message with an invalid signature was ignored; check that CONTROL_PLANE_URL is the address of the control plane that enrolled this gateway',
    )
    return false
  }

  function sections(message: Message<'sections'>): void {
    if (isSigned(message)) handlers.sections(message)
  }

  function beat(message: Message<'beat'>): void {
    if (isSigned(message)) handlers.beat(message)
  }

  const on: { readonly [T in DownMessage['type']]: (message: Message<T>) => void } = {
    ...handlers,
    sections,
    beat,
  }

  return (lines) => {
    const messages = lines.map(parse).filter((message) => message !== null)
    // Order within one chunk: `hello` first, then kill switches, then all other messages.
    const rank = (message: DownMessage) => (message.type === 'hello' ? 0 : message.type === 'kill' ? 1 : 2)
    for (const message of messages.toSorted((a, b) => rank(a) - rank(b))) on[message.type](message as never)
  }
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
