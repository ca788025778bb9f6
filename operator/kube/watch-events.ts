import * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'
import { kubeFailure } from './kube-failure.ts'

export type WatchEvent = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  /** The object from the API server. Only its `metadata.resourceVersion` is validated. */
  readonly object: { readonly metadata: { readonly resourceVersion: string } }
}

const Line = z.discriminatedUnion('type', [
  z.object({
    type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']),
    object: z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) }),
  }),
  z.object({
    type: z.literal('ERROR'),
    object: z.looseObject({ code: z.int().default(500), message: z.string().default('') }),
  }),
])

/** Maximum length of one event, larger than any object that etcd stores. */
const MAX_LINE_CHARS = 16 * 1024 * 1024

/**
 * Parses the events of a watch, one JSON object a line. Throws the error of `kubeFailure` for an ERROR event (`gone`
 * for code 410), and `not_ready` for a truncated or invalid line. Earlier events stay valid; the caller opens the watch
 * again.
 */
export async function* watchEvents(body: AsyncIterable<Buffer | string>): AsyncGenerator<WatchEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const lines = (
      rest + (typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }))
    ).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE_CHARS)
      throw broken('the API server sent a line that is longer than the maximum size of an object')
    yield* eventsOf(lines)
  }
  if (rest.trim() !== '') throw broken('the last line is truncated')
}

function* eventsOf(lines: readonly string[]): Generator<WatchEvent> {
  for (const line of lines) if (line.trim() !== '') yield eventOf(line)
}

function eventOf(line: string): WatchEvent {
  const parsed = Line.safeParse(json(line))
  if (!parsed.success)
    throw broken(
      `the API server sent a line that is not a watch event: ${parsed.error.issues[0]?.message ?? ''}`,
    )
  const { data } = parsed
  if (data.type !== 'ERROR') return data
  throw kubeFailure(data.object.code, JSON.stringify(data.object))
}

function json(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw new ChaperoneError('not_ready', { detail: 'The watch sent a line that is not JSON.', cause })
  }
}

function broken(why: string): ChaperoneError {
  return new ChaperoneError('not_ready', { detail: `The watch ended early: ${why}.` })
}
