import type { ClientHttp2Stream } from 'node:http2'
import type { Readable } from 'node:stream'

export type CallBodyOptions = {
  readonly stream: ClientHttp2Stream
  readonly onChunk: ((chunk: Buffer) => void) | null
  readonly onFinished: () => void
  readonly onFailed: (error: Error) => void
}

/**
 * Sends the agent's messages on their way up, as fast as the upstream takes them, whatever already comes down. The
 * source is never destroyed: the agent's stream must live to carry the answer. Returns the function that stops sending.
 */
export function sendCallBody(source: Readable, options: CallBodyOptions): () => void {
  const { stream, onChunk, onFinished, onFailed } = options
  const stop = (): void => {
    source.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
    stream.off('drain', onDrain)
    // Whatever still fails over there is the listener's to answer.
    source.on('error', () => source.resume())
  }
  const fail = (error: Error): void => {
    stop()
    onFailed(error)
  }
  const onData = (chunk: Buffer): void => {
    if (chunk.length === 0) return
    onChunk?.(chunk)
    if (!stream.write(chunk)) source.pause()
  }
  const onDrain = (): void => void source.resume()
  const onEnd = (): void => {
    stop()
    stream.end()
    onFinished()
  }
  const onError = (error: Error): void => fail(error)
  const onClose = (): void => {
    if (!source.readableEnded) fail(new Error('the agent closed its request before the end'))
  }
  stream.on('drain', onDrain)
  source.on('end', onEnd).on('error', onError).on('close', onClose).on('data', onData)
  if (source.destroyed && !source.readableEnded) onClose()
  return stop
}
