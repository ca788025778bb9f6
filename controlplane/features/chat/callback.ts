import { createHmac, timingSafeEqual } from 'node:crypto'
import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { unstorableIn } from '../../../core/storable.ts'
import { APPROVE, DENY } from './message.ts'

/** A callback of the chat provider as received: the unmodified body, and the two headers of its signature. */
export type RawCallback = {
  readonly body: string
  /** Time of the signature, Unix seconds. */
  readonly timestamp: string
  /** The signature: `v0=` and 64 hex digits. */
  readonly signature: string
}

/**
 * A click on a button of an approval card. The signed callback contains `place`, `nonce` and `message`, which identify
 * the card.
 */
export type Click = {
  readonly approved: boolean
  readonly chatUser: string
  readonly channel: string | null
  /** Id of the chat workspace in which the user clicked. */
  readonly team: string | null
  /**
   * Channel and timestamp of the message. Null for a click outside a message of a channel, and when fields of the
   * callback contradict each other.
   */
  readonly place: { readonly channel: string; readonly ts: string } | null
  readonly nonce: string
  /** The message that contains the button, as the provider stores it. */
  readonly message: Readonly<Record<string, unknown>>
}

const Id = z.string().min(1).max(100)
const Payload = z.object({
  type: z.string(),
  user: z.object({ id: Id }),
  team: z.object({ id: Id }).nullish(),
  channel: z.object({ id: Id }).nullish(),
  container: z
    .object({
      type: z.string(),
      message_ts: Id.optional(),
      channel_id: Id.optional(),
      is_ephemeral: z.boolean().optional(),
    })
    .nullish(),
  actions: z
    .array(z.object({ action_id: z.string(), value: z.string().max(100).optional() }))
    .max(20)
    .default([]),
})
const Message = z.looseObject({ ts: Id, team: Id.optional(), blocks: z.array(z.unknown()) })

/**
 * Reports whether the provider signed the callback. The signature is the HMAC-SHA256 of `v0:timestamp:body`, compared
 * in constant time.
 */
export function isSigned({ body, timestamp, signature }: RawCallback, secret: string): boolean {
  const wanted = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest()
  const given = Buffer.from(signature.slice(3), 'hex')
  return signature.startsWith('v0=') && given.length === wanted.length && timingSafeEqual(given, wanted)
}

/**
 * Returns the click on a button of an approval card; null for any other callback. Throws `malformed_request` when the
 * callback cannot be parsed.
 */
export function readClick(body: string): Click | null {
  const whole = parseJson(new URLSearchParams(body).get('payload') ?? '')
  const payload = Payload.safeParse(whole)
  if (!payload.success || unstorableIn(payload.data) !== null) throw malformed()
  const { type, user, team, channel, actions } = payload.data
  const [action, ...others] = actions.filter(({ action_id }) => action_id === APPROVE || action_id === DENY)
  if (type !== 'block_actions' || action?.value === undefined) return null
  const message = Message.safeParse(z.looseObject({}).parse(whole)['message'])
  return {
    approved: action.action_id === APPROVE,
    chatUser: user.id,
    channel: channel?.id ?? null,
    team: team?.id ?? null,
    nonce: action.value,
    message: message.data ?? {},
    place: message.success && others.length === 0 ? placeOf(payload.data, message.data) : null,
  }
}

/**
 * Returns the channel and timestamp of the message. Returns null unless all fields of the callback agree on the two
 * values.
 */
function placeOf(
  { container, channel, team }: z.infer<typeof Payload>,
  message: z.infer<typeof Message>,
): Click['place'] {
  const isOnMessage = container?.type === 'message' && container.is_ephemeral !== true
  if (!isOnMessage || channel == null || container.channel_id !== channel.id) return null
  if (container.message_ts !== message.ts) return null
  if (team != null && message.team !== undefined && message.team !== team.id) return null
  return { channel: channel.id, ts: message.ts }
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
    detail:
      'The payload is not an interaction of the chat provider, so no answer was stored. Only the chat provider may send requests to this address.',
    cause,
  })
}
