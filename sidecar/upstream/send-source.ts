import type { Readable, Writable } from 'node:stream'

export type SourceSink = {
  /** Stream that emits `drain` when `write` accepts more bytes. */
  readonly wire: Writable
  /**
   * Writes one chunk. Returns false when no further chunk must be written before `drain`. Throws for a chunk that must
   * not be sent.
   */
  readonly write: (chunk: Buffer) => boolean
  /** Called after the last chunk. Throws when the body is incomplete. */
  readonly end: () => void
}

export type SourceEvents = {
  readonly onFinished: () => void
  readonly onFailed: (error: Error) => void
}

/**
 * Sends the agent's body upstream with back-pressure, independent of the response. The source is never destroyed,
 * because the agent's connection must still carry the response. Returns a function that stops sending.
 */
export function sendSource(
  source: Readable,
  { wire, write, end }: SourceSink,
  { onFinished, onFailed }: SourceEvents,
): () => void {
  const stop = (): void => {
    source.off('data', onData).off('end', onEnd).off('error', fail).off('close', onClose)
    wire.off('drain', onDrain)
    // This listener handles errors after sending has stopped. Without a listener, an `error` event would end the
    // process.
    source.on('error', () => source.resume())
  }
  const fail = (error: Error): void => {
    stop()
    onFailed(error)
  }
  const onData = (chunk: Buffer): void => {
    if (chunk.length === 0) return
    try {
      if (!write(chunk)) source.pause()
    } catch (error) {
      fail(asError(error))
    }
  }
  const onDrain = (): void => void source.resume()
  const onEnd = (): void => {
    try {
      end()
    } catch (error) {
      fail(asError(error))
      return
    }
    stop()
    onFinished()
  }
  const onClose = (): void => {
    // A body with broken framing may have failed during the dial, before a listener was attached.
    if (!source.readableEnded)
      fail(
        source.errored ??
          new Error('the agent closed its connection before it had sent the complete request'),
      )
  }
  wire.on('drain', onDrain)
  source.on('end', onEnd).on('error', fail).on('close', onClose).on('data', onData)
  if (source.destroyed && !source.readableEnded) onClose()
  return stop
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
