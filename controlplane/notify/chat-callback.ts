import { createHmac, timingSafeEqual } from 'node:crypto'
import * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'
import { unstorableIn } from '../../core/storable.ts'
import { APPROVE, DENY } from './chat-message.ts'

/** A callback as it came in: the body byte for byte, and the two headers that vouch for it. */
export type RawCallback = {
  readonly body: string
  /** Seconds of the epoch. */
  readonly timestamp: string
  /** `v0=` and 64 hex digits. */
  readonly signature: string
}

export type Click = {
  readonly approvalId: string
  readonly approved: boolean
  readonly chatUser: string
  readonly channel: string | null
  /** The workspace that the message is in. */
  readonly team: string | null
}

const Id = z.string().min(1).max(100)
const Payload = z.object({
  type: z.string(),
  user: z.object({ id: Id }),
  team: z.object({ id: Id }).nullish(),
  channel: z.object({ id: Id }).nullish(),
  actions: z.array(z.object({ action_id: z.string(), value: z.string().max(100).optional() })).default([]),
})

/** Whether the provider signed it: HMAC-SHA256 over `v0:timestamp:body`, compared in constant time. */
export function isSigned({ body, timestamp, signature }: RawCallback, secret: string): boolean {
  const wanted = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest()
  const given = Buffer.from(signature.slice(3), 'hex')
  return signature.startsWith('v0=') && given.length === wanted.length && timingSafeEqual(given, wanted)
}

/** The click on one of our buttons; null for callbacks that are about something else. Throws `malformed_request`. */
export function readClick(body: string): Click | null {
  const payload = Payload.safeParse(parseJson(new URLSearchParams(body).get('payload') ?? ''))
  if (!payload.success || unstorableIn(payload.data) !== null) throw malformed()
  const { type, user, team, channel, actions } = payload.data
  const action = actions.find((one) => one.action_id === APPROVE || one.action_id === DENY)
  if (type !== 'block_actions' || action?.value === undefined) return null
  return {
    approvalId: action.value,
    approved: action.action_id === APPROVE,
    chatUser: user.id,
    channel: channel?.id ?? null,
    team: team?.id ?? null,
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw malformed(cause)
  }
}

function malformed(cause?: unknown): ChaperoneError {
  return new ChaperoneError('malformed_request', {
    detail: 'The payload is no interaction of the chat',
    cause,
  })
}
