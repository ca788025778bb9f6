import { type FieldRule, has, valuesOf } from './field-rule.ts'

const MESSAGES = [
  ...['message.post', 'message.post_ephemeral', 'message.post_me', 'message.schedule', 'message.update'],
  'message.unfurl',
]
const STREAMS = ['message.start_stream', 'message.append_stream', 'message.stop_stream']
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
const FETCHED =
  /(image_url|thumb_url|video_url|author_icon|footer_icon|icon_url|iconUrl|thumbnail_url|avatar_url)\b/

const TEXTS = ['text', 'markdown_text', 'blocks', 'attachments', 'chunks'] as const
/** Actions with a text whose mentions notify the mentioned users, and the parameters with such a text. */
export const MENTIONING = [...MESSAGES, ...STREAMS, 'file.upload']
export const MENTIONING_TEXTS = [...TEXTS, 'initial_comment', 'unfurls', 'user_auth_blocks']
/** Parameters with a layout that may contain images. */
const LAYOUTS = [
  ...['blocks', 'attachments', 'unfurls', 'user_auth_blocks', 'chunks', 'view', 'message', 'users'],
]
/** Parameters with a text or a document that may contain links. */
const CONTENTS = [
  ...['initial_comment', 'blocks', 'document_content', 'changes', 'content', 'agent_resource'],
  ...['code_channel', 'initial_fields', 'cells', 'manifest'],
]

export const CHAT_FIELDS: readonly FieldRule[] = [
  {
    actions: [
      ...[...MESSAGES, ...STREAMS, 'assistant_thread.set_status', 'agent_session.set_status'],
      ...['view.open', 'view.push', 'view.update', 'view.publish', 'agent_conversation.set_view'],
      ...['block.validate', 'call.create', 'call.add_participants'],
    ],
    effects: ['egress'],
    reason:
      '`blocks`, `attachments`, `unfurls`, `user_auth_blocks`, `chunks`, `view`, `message` or `users` has an image, or `icon_url` is given. The provider fetches the image.',
    applies: (parameters) =>
      has(parameters, 'icon_url') || LAYOUTS.some((name) => FETCHED.test(textOf(parameters[name]))),
  },
  {
    actions: [...MESSAGES, ...STREAMS, 'entity.present_details'],
    effects: ['egress'],
    reason: '`metadata` has an entity with a URL, whose icons and previews the provider fetches.',
    applies: ({ metadata }) => /\bentit(?:y|ies)/.test(textOf(metadata)) && LINK.test(textOf(metadata)),
  },
  {
    actions: [
      ...['remote_file.add', 'remote_file.update', 'bookmark.add', 'bookmark.update'],
      ...['admin_emoji.add', 'admin_team.set_icon'],
    ],
    effects: ['egress'],
    reason:
      'A URL is given (`external_url`, `link`, `url`, `image_url`). The provider fetches the image, icon or preview of this URL.',
    applies: (parameters) => has(parameters, 'external_url', 'link', 'url', 'image_url'),
  },
  {
    actions: [
      ...['file.upload', 'canvas.create', 'canvas.create_in_channel', 'canvas.update'],
      ...['agent_conversation.set_canvas_content', 'agent_conversation.set_properties'],
      ...['agent_conversation.set_view', 'list_item.create', 'list_item.update'],
      ...['app_manifest.create', 'app_manifest.update'],
    ],
    effects: ['egress'],
    reason:
      'The comment or content has a link. The provider fetches the link, or sends events of the workspace to it (`manifest`).',
    applies: (parameters) =>
      has(parameters, 'csp', 'pr_url') || CONTENTS.some((name) => LINK.test(textOf(parameters[name]))),
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
    actions: MENTIONING,
    effects: ['delegate'],
    reason:
      'The text of a message, of an unfurled link (`unfurls`, `user_auth_blocks`) or of the comment of an upload (`initial_comment`, `blocks`) mentions a user or a user group of `agentTriggers.mentions` of the Connector.',
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
