import type { ChatApi } from '../../chat/api.ts'
import { type Channel, noticeText } from './channel.ts'

export type SlackSettings = { readonly token: string; readonly channel: string }

/**
 * Posts test messages to the chat channel of approval cards. The cards themselves are delivered by the feature `chat`,
 * because their buttons answer approvals.
 */
export function createSlackChannel(api: ChatApi): Channel<SlackSettings> {
  return {
    async send({ token, channel }, notice, signal) {
      const body = { channel, text: `${notice.title}\n${noticeText(notice)}`, mrkdwn: false, parse: 'none' }
      const reply = await api('chat.postMessage', body, { token, signal })
      if (reply.ok) return { outcome: 'delivered', status: reply.status }
      return { outcome: 'failed', why: `chat answered ${reply.error}`, status: reply.status }
    },
  }
}
