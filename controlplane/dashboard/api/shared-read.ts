import { call } from './client.ts'
import type { InputOf, ReadName, ReplyOf } from './operations.ts'

const underWay = new Map<string, Promise<unknown>>()

/**
 * A read that several parts of a page want in the same moment goes out once. Only then: one that began earlier may
 * have missed the change that this one is asked for.
 */
export function sharedRead<N extends ReadName>(name: N, input: InputOf<N>): Promise<ReplyOf<N>> {
  const key = JSON.stringify([name, input])
  const known = underWay.get(key) as Promise<ReplyOf<N>> | undefined
  if (known !== undefined) return known
  const read = call(name, input)
  underWay.set(key, read)
  setTimeout(() => underWay.delete(key), 0)
  return read
}
