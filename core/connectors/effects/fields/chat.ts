import { type FieldRule, has, valuesOf } from './field-rule.ts'

export const MESSAGES = [
  ...['message.post', 'message.post_ephemeral', 'message.post_me', 'message.schedule', 'message.update'],
  'message.unfurl',
]
export const STREAMS = ['message.start_stream', 'message.append_stream', 'message.stop_stream']
/** Actions that send content to the members of a channel. */
export const CHANNEL_WRITES = [
  ...MESSAGES,
  ...STREAMS,
  ...['file.upload', 'remote_file.share', 'bookmark.add', 'bookmark.update', 'canvas.create_in_channel'],
  ...['channel.rename', 'channel.set_topic', 'channel.set_purpose'],
]

const LINK = /https?:/i
/** Matches a host name without a scheme. With `parse: full`, the chat turns the name into a link. */
const BARE_LINK = /[a-z0-9-]\.[a-z]{2}/i
const FETCHED = /"?(image_url|thumb_url|video_url|author_icon|footer_icon|icon_url|thumbnail_url)\b/

export const TEXTS = ['text', 'markdown_text', 'blocks', 'attachments', 'chunks'] as const

export const CHAT_FIELDS: readonly FieldRule[] = [
  {
    actions: MESSAGES,
    effects: ['egress'],
    reason:
      '`blocks`, `attachments` or `unfurls` has an image, or `icon_url` is given. The provider fetches the image.',
    applies: (parameters) =>
      has(parameters, 'icon_url') ||
      [parameters['blocks'], parameters['attachments'], parameters['unfurls']].some((value) =>
        FETCHED.test(textOf(value)),
      ),
  },
  {
    actions: [...MESSAGES, ...STREAMS],
    effects: ['egress'],
    reason:
      'The text has a link (with `parse: full`, also a host name), and `unfurl_links` and `unfurl_media` are not both false. The provider fetches the link.',
    applies: (parameters) => {
      const link = /full/i.test(textOf(parameters['parse'])) ? BARE_LINK : LINK
      const isUnfurled = !(isFalse(parameters['unfurl_links']) && isFalse(parameters['unfurl_media']))
      return (
        isUnfurled && TEXTS.some((name) => [link, LINK].some((one) => one.test(textOf(parameters[name]))))
      )
    },
  },
  {
    actions: CHANNEL_WRITES,
    effects: ['egress'],
    reason:
      'A channel is shared with another organization, or a look-up has not shown that it is not (`channel`, `channels`, `channel_id`, `channel_ids`).',
    // The look-up of `external-channels.ts` decides whether the class applies; no parameter determines it.
    applies: () => false,
  },
  {
    actions: [...MESSAGES, ...STREAMS],
    effects: ['delegate'],
    reason: 'The text mentions a user or a user group of `agentTriggers.mentions` of the Connector.',
    // `agent-triggers.ts` applies the patterns of the Connector; by default, no account is known to be an agent.
    applies: () => false,
  },
]

/** Returns the text of a message parameter, structured values as JSON. */
export function textOf(value: unknown): string {
  return valuesOf(value)
    .map((one) => (typeof one === 'string' ? withoutEscapes(one) : JSON.stringify(one)))
    .join('\n')
}

/**
 * The API also accepts blocks and attachments as JSON in a text. Escapes in the text could hide a field name or a
 * link.
 */
function withoutEscapes(text: string): string {
  return text.replaceAll(/\\u([0-9a-f]{4})/gi, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
}

function isFalse(value: unknown): boolean {
  return value === false || value === 'false' || value === '0'
}
