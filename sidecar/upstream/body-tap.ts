import { Readable } from 'node:stream'

const HIGH_WATER_MARK = 256 * 1024

/**
 * The agent's body on its way up. It stands between the listener's stream and the HTTP client, because the client
 * destroys the stream it is given when the upstream fails, and the agent's connection must live to carry the answer.
 */
export function tapBody(source: Readable, onChunk: (chunk: Buffer) => void): Readable {
  const tap = new Readable({
    highWaterMark: HIGH_WATER_MARK,
    read() {
      source.resume()
    },
    destroy(error, done) {
      source.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
      // Whatever still fails over there is the listener's to answer.
      source.on('error', () => source.resume())
      done(error)
    },
  })
  const onData = (chunk: Buffer) => {
    onChunk(chunk)
    if (!tap.push(chunk)) source.pause()
  }
  const onEnd = () => tap.push(null)
  const onError = (error: Error) => tap.destroy(error)
  const onClose = () => {
    if (!source.readableEnded) tap.destroy(new Error('the agent closed its request before the end'))
  }
  source.pause()
  source.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose)
  return tap
}
