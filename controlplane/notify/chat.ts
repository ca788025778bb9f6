import { approvalCard } from '../services/approval-card.ts'
import type { Settings } from '../services/settings.ts'
import { getApproval } from '../store/approvals.ts'
import {
  closeChatMessage,
  getChatMessage,
  insertChatMessage,
  queueChatMessages,
} from '../store/chat-messages.ts'
import type { Leased } from '../store/notifications.ts'
import type { Db } from '../store/query.ts'
import type { ChatApi, ChatReply } from './chat-api.ts'
import { approvalMessage } from './chat-message.ts'
import type { Deliver, Delivery } from './delivery.ts'

export type ChatDeps = {
  readonly db: Db
  readonly orgId: string
  readonly settings: Pick<Settings, 'read'>
  readonly api: ChatApi
  /** Where people open the dashboard; null when nobody said so. */
  readonly dashboardUrl: string | null
}

export type Chat = {
  /** Queues what the chat has to be told now. */
  prepare(): Promise<void>
  readonly deliver: Readonly<Record<'chat_post' | 'chat_update' | 'chat_tell', Deliver>>
}

const SLOW_DOWN_S = 5
/** A word to somebody who clicked is worth nothing later. */
const TELL_MS = 600_000
const GONE: ReadonlySet<string> = new Set(['message_not_found', 'channel_not_found', 'cant_update_message'])
const QUIET = { unfurl_links: false, unfurl_media: false, mrkdwn: false, link_names: false, parse: 'none' }

/** Shows approvals in the chat, and how they ended, whoever answered them. */
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
  if (token === null || channel === null) return obsolete('chat is not set up any more')
  const body = { channel, ...QUIET, ...approvalMessage(approvalCard(row), deps.dashboardUrl) }
  const reply = await deps.api('chat.postMessage', body, { token, signal })
  if (!reply.ok) return failure(reply)
  const message = { channel: String(reply.body['channel'] ?? channel), ts: String(reply.body['ts']) }
  return {
    outcome: 'delivered',
    status: reply.status,
    store: (q) => insertChatMessage(q, subjectId, message),
  }
}

async function update(deps: ChatDeps, { subjectId }: Leased, signal: AbortSignal): Promise<Delivery> {
  const [row, shown] = [await getApproval(deps.db, subjectId), await getChatMessage(deps.db, subjectId)]
  const token = await deps.settings.read('chat_bot_token')
  if (row === undefined || shown === undefined || token === null)
    return obsolete('there is no message to change')
  const body = { ...shown, parse: 'none', ...approvalMessage(approvalCard(row), deps.dashboardUrl) }
  const reply = await deps.api('chat.update', body, { token, signal })
  if (!reply.ok && GONE.has(reply.error)) return obsolete(`chat answered ${reply.error}`)
  if (!reply.ok) return failure(reply)
  return { outcome: 'delivered', status: reply.status, store: (q) => closeChatMessage(q, subjectId) }
}

async function tell(deps: ChatDeps, message: Leased, signal: AbortSignal): Promise<Delivery> {
  const token = await deps.settings.read('chat_bot_token')
  const age = message.leasedAt.getTime() - message.createdAt.getTime()
  if (token === null || age > TELL_MS) return obsolete('too late to be of use')
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
