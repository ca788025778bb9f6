import { ChaperoneError } from '../../../core/errors.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { Exchange } from '../exchange.ts'
import type { Pacer } from '../pacer.ts'
import type { Parsed } from '../phases.ts'
import { withoutAgentCredential } from './agent-credential.ts'
import { type ByteRequest, createByteQuota } from './byte-quota.ts'
import { sizeText } from './too-large.ts'

/**
 * Reads request bodies into memory, for all stages and within one budget, which includes the bodies of held requests. A
 * request beyond the budget waits. Freed memory goes to the waiting agent that uses least; among equals the first
 * request is served. A body that was read before is returned from memory. Bodies are returned without the agent's own
 * credential.
 */
export type BodyReader = {
  /**
   * Returns a body that was read, or that has arrived completely and is too small to count against the budget, and sets
   * `exchange.bodyBytes`. Returns null for other bodies; `read` waits for them.
   */
  arrived(exchange: Exchange): Buffer | null
  /**
   * Reads the whole body, and sets `exchange.bodyBytes`. Resolves with null when the body is longer than `limit` bytes.
   * Rejects with `overloaded` when memory stays used up for `waitMs`, with `body_too_large` when the body exceeds the
   * budget, and with an error when the client disconnects.
   */
  read(exchange: Exchange, limit: number): Promise<Buffer | null>
  /**
   * Reads the first bytes as `RequestBody.peek` does. They do not count against the budget, and the body remains
   * unread.
   */
  peek(exchange: Exchange, limit: number, scan: (bytes: Buffer) => number): Promise<Buffer>
  /** Releases the memory that the exchange reserved. */
  release(exchange: Exchange): void
  readonly messages: MessageRoom
}

/** Reservations in the same budget for WebSocket messages, which are buffered before they have an exchange. */
export type MessageRoom = {
  /**
   * Reserves bytes for an agent. Rejects with `overloaded` when memory stays used up for `waitMs`, with
   * `body_too_large` when the message exceeds the budget, and with the abort reason when the signal fires. A rejected
   * call reserves nothing.
   */
  take(request: ByteRequest): Promise<void>
  releaseBytes(agent: string, bytes: number): void
}

export type BodyReaderOptions = {
  readonly pacer: Pick<Pacer, 'turnForBody'>
  readonly totalBytes: number
  /** Time in milliseconds that a request waits while the budget is used up. */
  readonly waitMs?: number
}

/**
 * Size in bytes up to which bodies do not count against the budget. The limit of concurrent requests for each agent
 * bounds their number.
 */
export const SMALL_BYTES = 64 * 1024
const RETRY_AFTER_S = 5

export function createBodyReader({
  pacer,
  totalBytes,
  waitMs = LIMITS.bodyBudgetWaitMs,
}: BodyReaderOptions): BodyReader {
  const quota = createByteQuota({ totalBytes, waitMs, full: (bytes) => full(totalBytes, bytes, waitMs) })

  /** Reserves `bytes` for the body. Bytes that an earlier read of the same body reserved are subtracted. */
  async function reserve(exchange: Exchange, bytes: number): Promise<void> {
    const more = bytes - (exchange.reservedBytes ?? 0)
    if (more <= 0) return
    await quota.take({ agent: nameOf(exchange), bytes: more, signal: exchange.abort.signal })
    exchange.reservedBytes = bytes
  }

  function shrink(exchange: Exchange, bytes: number): void {
    const over = (exchange.reservedBytes ?? 0) - bytes
    if (over <= 0) return
    exchange.reservedBytes = bytes
    quota.releaseBytes(nameOf(exchange), over)
  }

  async function keep(exchange: Exchange, bytes: number): Promise<Buffer | null> {
    const small = await readSmall(exchange, bytes)
    const whole = small === null && bytes > SMALL_BYTES ? await readLarge(exchange, bytes) : small
    if (whole === null) return null
    exchange.bodyBytes = whole
    await pacer.turnForBody(exchange)
    exchange.bodyBytes = withoutAgentCredential(exchange, whole)
    return exchange.bodyBytes
  }

  async function readLarge(exchange: Exchange, bytes: number): Promise<Buffer | null> {
    await reserve(exchange, bytes)
    const whole = await exchange.body.buffer(bytes)
    if (whole !== null) shrink(exchange, whole.length)
    return whole
  }

  return {
    arrived(exchange) {
      const { body, bodyBytes } = exchange
      if (bodyBytes !== undefined) return bodyBytes
      const whole = body.bytesIn <= SMALL_BYTES ? body.arrived() : null
      if (whole === null) return null
      exchange.bodyBytes = withoutAgentCredential(exchange, whole)
      return exchange.bodyBytes
    },
    async read(exchange, limit) {
      if (exchange.bodyBytes !== undefined) return exchange.bodyBytes
      const declared = exchange.request?.body.length
      if (declared !== undefined && declared > limit) return null
      const bytes = lengthToRead(declared, limit, totalBytes)
      const whole = await keep(exchange, bytes)
      if (whole === null && bytes < limit) throw tooLarge(totalBytes)
      return whole
    },
    peek: async ({ body, bodyBytes }, limit, scan) => bodyBytes ?? body.peek(limit, scan),
    release: (exchange) => shrink(exchange, 0),
    messages: {
      take: async (request) => {
        if (request.bytes > totalBytes) throw tooLarge(totalBytes)
        await quota.take(request)
      },
      releaseBytes: quota.releaseBytes,
    },
  }
}

/**
 * Reads a small body, which does not count against the budget. Returns null for a body that counts against it. The size
 * of a body without a declared length is known only once its bytes arrive.
 */
async function readSmall({ body, request }: Exchange, bytes: number): Promise<Buffer | null> {
  const isLarge = request?.body.length !== undefined && bytes > SMALL_BYTES
  return isLarge ? null : body.buffer(Math.min(bytes, SMALL_BYTES))
}

/** Returns the number of bytes to read: the declared length, else the lower of the limit and the budget. */
function lengthToRead(declared: number | undefined, limit: number, totalBytes: number): number {
  const most = Math.max(totalBytes, SMALL_BYTES)
  if (declared === undefined) return Math.min(limit, most)
  if (declared > most) throw tooLarge(totalBytes)
  return declared
}

/**
 * Returns true when the whole body of a declared length has arrived without a content encoding, and has at most
 * `maxBytes`.
 */
export function hasArrived({ request, body }: Parsed, maxBytes = Number.POSITIVE_INFINITY): boolean {
  const { length, encoding } = request.body
  return length !== undefined && length <= maxBytes && length === body.bytesIn && encoding === undefined
}

function nameOf({ agent }: Exchange): string {
  return agent?.name ?? ''
}

const SETTING = 'BODY_BUDGET_BYTES of the gateway (in a pod: the memory limit of the sidecar)'

function full(totalBytes: number, bytes: number, waitMs: number): ChaperoneError {
  const detail = `The gateway keeps at most ${sizeText(totalBytes)} of request bodies in memory. This request needs ${sizeText(bytes)} more, which did not become free within ${waitMs / 1_000} s. Send the request again later, or raise ${SETTING}.`
  return new ChaperoneError('overloaded', { detail, retryAfterS: RETRY_AFTER_S })
}

function tooLarge(totalBytes: number): ChaperoneError {
  const detail = `The body of this request is larger than the memory that the gateway has for request bodies, ${sizeText(totalBytes)}. Send a smaller body, or raise ${SETTING}.`
  return new ChaperoneError('body_too_large', { detail })
}
