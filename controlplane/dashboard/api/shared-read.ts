import { call } from './client.ts'
import type { InputOf, ReadName, ReplyOf } from './operations.ts'

const inFlight = new Map<string, Promise<unknown>>()

/**
 * Sends one request for identical reads of the same task of the event loop. A read of a later task gets a request of
 * its own, because the reply to an earlier request may not contain the change that triggered the later read.
 */
export function sharedRead<N extends ReadName>(name: N, input: InputOf<N>): Promise<ReplyOf<N>> {
  const key = JSON.stringify([name, input])
  const known = inFlight.get(key) as Promise<ReplyOf<N>> | undefined
  if (known !== undefined) return known
  const read = call(name, input)
  inFlight.set(key, read)
  setTimeout(() => inFlight.delete(key), 0)
  return read
}
