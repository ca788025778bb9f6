import * as z from 'zod'
import { sha256 } from '../../../runtime/sha256.ts'
import { randomToken } from '../../crypto/tokens.ts'
import type { Db, Query } from '../../db/query.ts'
import { approvalCard } from '../approvals/card.ts'
import { type ApprovalRow, getApproval } from '../approvals/rows.ts'
import type { Deliver, Delivery } from '../notifications/delivery.ts'
import type { Leased } from '../notifications/store.ts'
import type { Settings } from '../settings/service.ts'
import type { ChatApi, ChatReply } from './api.ts'
import { contentHash } from './card/content.ts'
import { approvalMessage, type ChatMessage } from './message.ts'
import {
  type CardPrint,
  closeChatMessage,
  getChatMessage,
  insertChatMessage,
  queueChatMessages,
  renewChatMessage,
} from './message-store.ts'

export type ChatDeps = {
  readonly db: Db
  readonly orgId: string
  readonly settings: Pick<Settings, 'read'>
  readonly api: ChatApi
  /** Public URL of the dashboard; null when it is not configured. */
  readonly dashboardUrl: string | null
}

export type Chat = {
  /** Queues the chat messages that are due. */
  prepare(): Promise<void>
  readonly deliver: Readonly<Record<'chat_post' | 'chat_update' | 'chat_tell', Deliver>>
}

const SLOW_DOWN_S = 5
/** Time in milliseconds after which an undelivered reply to a click is discarded. */
const MAX_MESSAGE_AGE_MS = 600_000
const GONE: ReadonlySet<string> = new Set(['message_not_found', 'channel_not_found', 'cant_update_message'])
const QUIET = { unfurl_links: false, unfurl_media: false, mrkdwn: false, link_names: false, parse: 'none' }

/**
 * Creates the delivery of approval cards and outcomes to the chat. The outcome is delivered for answers through any
 * channel.
 */
export function createChat(deps: ChatDeps): Chat {
  return {
    prepare: () => queueChatMessages(deps.db, deps.orgId),
    deliver: {
      chat_post: (message, signal) => post(deps, message, signal),
      chat_update: (message, signal) => update(deps, message, signal),
      chat_tell: (message, signal) => tell(deps, message, signal),
    },
  }
}

async function post(deps: ChatDeps, { subjectId }: Leased, signal: AbortSignal): Promise<Delivery> {
  const row = await getApproval(deps.db, subjectId)
  if (row?.status !== 'pending' || row.isOverdue) return obsolete('the approval has ended')
  const [token, channel] = [
    await deps.settings.read('chat_bot_token'),
    await deps.settings.read('chat_channel_id'),
  ]
  if (token === null || channel === null) return obsolete('chat is no longer configured')
  const { message, nonce } = drawn(deps, row)
  const reply = await deps.api('chat.postMessage', { channel, ...QUIET, ...message }, { token, signal })
  if (!reply.ok) return failure(reply)
  const place = { channel: String(reply.body['channel'] ?? channel), ts: String(reply.body['ts']) }
  const shown = { ...place, ...printOf(reply.body, message, nonce) }
  return {
    outcome: 'delivered',
    status: reply.status,
    store: (q) => insertChatMessage(q, subjectId, shown),
  }
}

/** Returns the approval as a chat message, and the new nonce of its buttons. */
function drawn({ dashboardUrl }: ChatDeps, row: ApprovalRow) {
  const nonce = randomToken()
  return { nonce, message: approvalMessage(approvalCard(row), { dashboardUrl, nonce }) }
}

const Stored = z.looseObject({ blocks: z.array(z.unknown()), team: z.string().optional() })

/**
 * Returns the fingerprint of the message as the provider stored it. If the response omits the message, returns the
 * fingerprint of the sent message.
 */
function printOf(reply: Readonly<Record<string, unknown>>, sent: ChatMessage, nonce: string): CardPrint {
  const stored = Stored.safeParse(reply['message'])
  return {
    team: stored.data?.team ?? null,
    nonceSha256: sha256(nonce),
    contentSha256: contentHash(stored.data ?? sent),
  }
}

async function update(deps: ChatDeps, { subjectId }: Leased, signal: AbortSignal): Promise<Delivery> {
  const [row, shown] = [await getApproval(deps.db, subjectId), await getChatMessage(deps.db, subjectId)]
  const token = await deps.settings.read('chat_bot_token')
  if (row === undefined || shown === undefined || token === null)
    return obsolete('there is no message to change')
  const { message, nonce } = drawn(deps, row)
  const { channel, ts } = shown
  const reply = await deps.api('chat.update', { channel, ts, parse: 'none', ...message }, { token, signal })
  if (!reply.ok && GONE.has(reply.error)) return obsolete(`chat answered ${reply.error}`)
  if (!reply.ok) return failure(reply)
  const print = printOf(reply.body, message, nonce)
  const store = (q: Query) =>
    row.status === 'pending'
      ? renewChatMessage(q, subjectId, print)
      : closeChatMessage(q, subjectId, row.respondedAt)
  return { outcome: 'delivered', status: reply.status, store }
}

async function tell(deps: ChatDeps, message: Leased, signal: AbortSignal): Promise<Delivery> {
  const token = await deps.settings.read('chat_bot_token')
  const age = message.leasedAt.getTime() - message.createdAt.getTime()
  if (token === null || age > MAX_MESSAGE_AGE_MS) return obsolete('the message is too old')
  const reply = await deps.api('chat.postEphemeral', message.payload, { token, signal })
  return reply.ok ? { outcome: 'delivered', status: reply.status } : failure(reply)
}

function failure(reply: Extract<ChatReply, { ok: false }>): Delivery {
  const why = `chat answered ${reply.error}`
  if (reply.status === 429 || reply.error === 'ratelimited') {
    return { outcome: 'slow_down', why, retryAfterS: Math.max(reply.retryAfterS ?? SLOW_DOWN_S, 1) }
  }
  return { outcome: 'failed', why, status: reply.status, retryAfterS: reply.retryAfterS }
}

function obsolete(why: string): Delivery {
  return { outcome: 'obsolete', why }
}
