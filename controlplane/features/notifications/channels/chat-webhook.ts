import { ChaperoneError } from '../../../../core/errors.ts'
import type { ChatWebhookSettings } from '../../../../core/wire/notifications/notification-channels.ts'
import { escaped } from '../../../chat-markup.ts'
import type { Send } from '../send.ts'
import { judgeReply } from '../webhook.ts'
import { type Channel, type Notice, noticeText } from './channel.ts'

/** Posts notices to an incoming webhook of a chat: an Adaptive Card of Microsoft Teams, or a template. */
export function createChatWebhookChannel({ send }: { readonly send: Send }): Channel<ChatWebhookSettings> {
  return {
    async send({ url, format, template }, notice, signal) {
      if (notice.event === 'approval.ended')
        return { outcome: 'obsolete', why: 'only opened approvals are posted' }
      const body = JSON.stringify(format === 'teams' ? adaptiveCard(notice) : filled(template, notice))
      const headers = { 'content-type': 'application/json', 'user-agent': 'chaperone' }
      return judgeReply(await send({ url, headers, body, readBytes: 0, signal }))
    },
  }
}

/** Throws `validation` for a template that is not JSON. */
export function refuseBrokenTemplate({ format, template }: ChatWebhookSettings): void {
  if (format === 'teams') return
  try {
    JSON.parse(template)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new ChaperoneError('validation', {
      detail: `settings.template is not valid JSON: ${error.message}. Example: {"text": "{{title}} {{link}}"}`,
    })
  }
}

/**
 * Returns an Adaptive Card. Its texts are text runs of rich text, because Teams applies no Markdown, links or
 * mentions to text runs.
 */
function adaptiveCard(notice: Notice) {
  const run = (text: string, weight = 'default') => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, weight }],
  })
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [run(notice.title, 'bolder'), ...notice.facts.map(([label, value]) => run(`${label}: ${value}`))],
    actions:
      notice.link === null ? [] : [{ type: 'Action.OpenUrl', title: 'Open the card', url: notice.link }],
  }
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }
  return { type: 'message', attachments: [attachment] }
}

/**
 * Parses the template, and replaces the placeholders in its strings. The order is necessary so that no value changes
 * the JSON structure. Markup in `title` and `text` is made ineffective, because an agent chooses the names in them.
 */
function filled(template: string, notice: Notice): unknown {
  const values: Readonly<Record<string, string>> = {
    title: literal(notice.title),
    text: literal(noticeText({ ...notice, link: '' }).trimEnd()),
    link: notice.link ?? '',
  }
  return JSON.parse(template, (_key, value: unknown) =>
    typeof value === 'string'
      ? value.replace(/\{\{(title|text|link)\}\}/g, (_whole, name: string) => values[name] ?? '')
      : value,
  )
}

/**
 * Returns text that chats show without mentions, masked links and formatting. Replaces the characters of this markup
 * by their full-width forms. Keeps an underscore inside a word, which is not markup.
 */
function literal(text: string): string {
  return escaped(text).replace(MARKS, (mark) => String.fromCodePoint((mark.codePointAt(0) ?? 0) + FULL_WIDTH))
}

const MARKS = /[@[\]`*~|]|(?<!\w)_|_(?!\w)/g
/** Difference between the code points of an ASCII character and of its full-width form. */
const FULL_WIDTH = 0xfee0
