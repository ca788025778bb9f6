import { ChaperoneError } from '../../../core/errors.ts'
import { LIMITS } from '../../../core/wire/limits.ts'
import type { Exchange } from '../exchange.ts'
import type { Pacer } from '../pacer.ts'
import { type ByteRequest, createByteQuota } from './byte-quota.ts'
import { sizeText } from './too-large.ts'

/**
 * Memory budget of buffered bodies, including those of held requests. A request over the budget waits; freed memory
 * goes to the agent that uses least, in order of arrival.
 */
export type BodyBudget = {
  /**
   * The whole body, also as `exchange.bodyBytes`; null when it is longer than `limit`. Rejects with `overloaded` when there
   * was no room for too long, with `body_too_large` when there never can be, and when the client goes away.
   */
  read(exchange: Exchange, limit: number): Promise<Buffer | null>
  /** Gives back what the exchange took. */
  release(exchange: Exchange): void
  readonly messages: MessageRoom
}

/** Room in the budget for messages of WebSockets, which are read before they are exchanges. */
export type MessageRoom = {
  /**
   * Resolves once the bytes are counted for the agent. Rejects with `overloaded` when there was no room for too long, with
   * `body_too_large` when there never can be, and when the signal fires: then nothing is counted.
   */
  take(request: ByteRequest): Promise<void>
  releaseBytes(agent: string, bytes: number): void
}

export type BodyBudgetOptions = {
  readonly pacer: Pick<Pacer, 'turnForBody'>
  readonly totalBytes: number
  /** Of what finds the budget full. */
  readonly waitMs?: number
}

/** Bodies that are announced to be this small are bounded by how many requests an agent may run at once. */
export const SMALL_BYTES = 64 * 1024
const RETRY_AFTER_S = 5

export function createBodyBudget({
  pacer,
  totalBytes,
  waitMs = LIMITS.bodyBudgetWaitMs,
}: BodyBudgetOptions): BodyBudget {
  const quota = createByteQuota({ totalBytes, waitMs, full: (bytes) => full(totalBytes, bytes, waitMs) })

  /** Reserves `bytes` for the body. Bytes already reserved by an earlier read of the same body are subtracted. */
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
    const whole = (await readSmall(exchange, bytes)) ?? (await readLarge(exchange, bytes))
    if (whole === null) return null
    exchange.bodyBytes = whole
    await pacer.turnForBody(exchange)
    return whole
  }

  async function readLarge(exchange: Exchange, bytes: number): Promise<Buffer | null> {
    await reserve(exchange, bytes)
    const whole = await exchange.body.buffer(bytes)
    if (whole !== null) shrink(exchange, whole.length)
    return whole
  }

  return {
    async read(exchange, limit) {
      const declared = exchange.request?.body.length
      if (declared !== undefined && declared > limit) return null
      const bytes = lengthToRead(declared, limit, totalBytes)
      const whole = await keep(exchange, bytes)
      if (whole === null && bytes < limit) throw tooLarge(totalBytes)
      return whole
    },
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

/** Null for a body that takes part of the budget. Of one without a length only its first bytes tell. */
async function readSmall({ body, request }: Exchange, bytes: number): Promise<Buffer | null> {
  const isLarge = request?.body.length !== undefined && bytes > SMALL_BYTES
  return isLarge ? null : body.buffer(SMALL_BYTES)
}

/** How much of a body is read: all that was announced, else as much as may be and fits. */
function lengthToRead(declared: number | undefined, limit: number, totalBytes: number): number {
  const most = Math.max(totalBytes, SMALL_BYTES)
  if (declared === undefined) return Math.min(limit, most)
  if (declared > most) throw tooLarge(totalBytes)
  return declared
}

function nameOf({ agent }: Exchange): string {
  return agent?.name ?? ''
}

const SETTING = 'BODY_BUDGET_BYTES of the gateway (in a pod: the memory limit of the sidecar)'

function full(totalBytes: number, bytes: number, waitMs: number): ChaperoneError {
  const detail = `The gateway keeps at most ${sizeText(totalBytes)} of request bodies in memory, and for ${waitMs / 1_000} s there was no room for ${sizeText(bytes)} more. Send the request again later, or raise ${SETTING}.`
  return new ChaperoneError('overloaded', { detail, retryAfterS: RETRY_AFTER_S })
}

function tooLarge(totalBytes: number): ChaperoneError {
  const detail = `The gateway has to read the body of this request, and keeps at most ${sizeText(totalBytes)} of request bodies in memory. Send a smaller one, or raise ${SETTING}.`
  return new ChaperoneError('body_too_large', { detail })
}
