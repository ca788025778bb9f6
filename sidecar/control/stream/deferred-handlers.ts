import type { Message, StreamHandlers } from './message-dispatcher.ts'

/** Handlers of the gateway for the messages of its streams; see `StreamHandlers`. */
export type GatewayHandlers = Omit<StreamHandlers, 'beat' | 'goaway' | 'kill'> & {
  /**
   * Applies a kill message. `isCurrent` is true for a message on the stream in use. Only the replica that sends that
   * stream counts the acknowledgement.
   */
  kill(message: Message<'kill'>, isCurrent: boolean): void
}

/**
 * Message handlers of a stream that is not in use yet. Kill switches, verdicts, instances and actions to execute take
 * effect immediately. The other messages, and the acknowledgement of a kill switch, are deferred until `promote`.
 */
export type DeferredHandlers = Omit<StreamHandlers, 'beat' | 'goaway'> & {
  /** Makes the stream the one in use, and delivers the deferred messages. */
  promote(): void
}

export function createDeferredHandlers(handlers: GatewayHandlers): DeferredHandlers {
  let isCurrent = false
  let hello: Message<'hello'> | null = null
  let kill: Message<'kill'> | null = null
  let sections: Message<'sections'> | null = null
  let quota: Message<'quota'> | null = null
  return {
    hello(message) {
      hello = message
      if (isCurrent) handlers.hello(message)
    },
    kill(message) {
      kill = message
      handlers.kill(message, isCurrent)
    },
    sections(message) {
      sections = message
      if (isCurrent) handlers.sections(message)
    },
    quota(message) {
      quota = message
      if (isCurrent) handlers.quota(message)
    },
    verdict: handlers.verdict,
    instance: handlers.instance,
    execute: handlers.execute,
    promote() {
      if (isCurrent) return
      isCurrent = true
      if (hello !== null) handlers.hello(hello)
      if (kill !== null) handlers.kill(kill, true)
      if (sections !== null) handlers.sections(sections)
      if (quota !== null) handlers.quota(quota)
    },
  }
}
