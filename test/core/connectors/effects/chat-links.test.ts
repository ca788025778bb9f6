import { describe, expect, test } from 'vitest'
import { effectsOf } from '../../../../core/connectors/effects/effects.ts'
import { fieldRules } from '../../../../core/connectors/effects/fields/of-fields.ts'
import { connectorOfType } from '../../../../core/connectors/registry.ts'
import { boundOf, nameRequest, rawOf, USUAL_HOST } from '../golden.ts'

const URL = 'https://x.test/?d=1'
const IMAGE = { type: 'image', image_url: URL, alt_text: 'x' }

/** Returns the effect classes of a chat request, without those that a look-up settles. */
function effects(method: string, body: Readonly<Record<string, unknown>>, isForm = false) {
  const pairs = Object.entries(body).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  const text = isForm ? new URLSearchParams(pairs).toString() : JSON.stringify(body)
  const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json'
  const raw = rawOf(
    { method: 'POST', target: `/api/${method}`, headers: [['Content-Type', type]], body: text },
    USUAL_HOST.chat,
  )
  const named = nameRequest(boundOf('chat'), raw, text)
  if (named.kind !== 'actions') throw new Error(JSON.stringify(named))
  return named.actions.flatMap(
    ({ possibleEffects: _possible, ...action }): readonly string[] => effectsOf(action) ?? ['unknown'],
  )
}

describe('an address that the chat fetches', () => {
  test.each<[string, string, Record<string, unknown>]>([
    [
      'a link in the comment of an upload',
      'files.completeUploadExternal',
      { files: [{ id: 'F1' }], initial_comment: URL },
    ],
    [
      'an image in the blocks of an upload',
      'files.completeUploadExternal',
      { files: [{ id: 'F1' }], blocks: [IMAGE] },
    ],
    ['an image in a dialog', 'views.open', { trigger_id: 't', view: { type: 'modal', blocks: [IMAGE] } }],
    [
      'an image in a further dialog',
      'views.push',
      { trigger_id: 't', view: { type: 'modal', blocks: [IMAGE] } },
    ],
    [
      'an image in a changed dialog',
      'views.update',
      { view_id: 'V1', view: { type: 'modal', blocks: [IMAGE] } },
    ],
    ['an image on a home page', 'views.publish', { user_id: 'U1', view: { type: 'home', blocks: [IMAGE] } }],
    ['a remote file', 'files.remote.add', { external_id: '1', title: 'x', external_url: URL }],
    ['another address of a remote file', 'files.remote.update', { external_id: '1', external_url: URL }],
    ['a bookmark', 'bookmarks.add', { channel_id: 'C1', title: 'x', type: 'link', link: URL }],
    ['another address of a bookmark', 'bookmarks.edit', { channel_id: 'C1', bookmark_id: 'B1', link: URL }],
    [
      'an image in a canvas',
      'canvases.create',
      { document_content: { type: 'markdown', markdown: `![](${URL})` } },
    ],
    [
      'an image in the canvas of a channel',
      'conversations.canvases.create',
      { channel_id: 'C1', document_content: { type: 'markdown', markdown: `![](${URL})` } },
    ],
    [
      'an image in a changed canvas',
      'canvases.edit',
      {
        canvas_id: 'F1',
        changes: [{ operation: 'insert_at_end', document_content: { type: 'markdown', markdown: URL } }],
      },
    ],
    [
      'an image at the end of a stream',
      'chat.stopStream',
      { channel: 'C1', ts: '1', blocks: [IMAGE], unfurl_links: false, unfurl_media: false },
    ],
    [
      'a preview in an entity',
      'chat.unfurl',
      {
        channel: 'C1',
        ts: '1',
        metadata: {
          entities: [{ entity_payload: { attributes: { full_size_preview: { preview_url: URL } } } }],
        },
      },
    ],
    [
      'an image in a request to sign in',
      'chat.unfurl',
      { channel: 'C1', ts: '1', user_auth_blocks: [IMAGE] },
    ],
    [
      'an image in the details of an entity',
      'entity.presentDetails',
      { trigger_id: 't', metadata: { entity_payload: { fields: { a: { image_url: URL } } } } },
    ],
    [
      'an icon of a status',
      'assistant.threads.setStatus',
      { channel_id: 'C1', thread_ts: '1', icon_url: URL },
    ],
    [
      'a picture of a participant',
      'calls.add',
      { external_unique_id: '1', users: [{ external_id: '1', avatar_url: URL }] },
    ],
    ['an image in a view of an agent', 'agents.conversations.setView', { channel_id: 'C1', blocks: [IMAGE] }],
    [
      'a host that a view may reach',
      'agents.conversations.setView',
      { channel_id: 'C1', csp: { connect_domains: ['x.test'] } },
    ],
    ['an image in blocks to check', 'blocks.validate', { message: { blocks: [IMAGE] } }],
    [
      'a link in a list',
      'slackLists.items.update',
      { list_id: 'L1', cells: [{ link: [{ original_url: URL }] }] },
    ],
    ['an emoji', 'admin.emoji.add', { name: 'x', url: URL }],
    ['an icon of a workspace', 'admin.teams.settings.setIcon', { team_id: 'T1', image_url: URL }],
    [
      'an app that gets events',
      'apps.manifest.update',
      { app_id: 'A1', manifest: `{"settings":{"event_subscriptions":{"request_url":"${URL}"}}}` },
    ],
  ])('is egress: %s', (_what, method, body) => {
    expect(effects(method, body)).toContain('egress')
    expect(effects(method, body, true)).toContain('egress')
  })

  test.each<[string, string, Record<string, unknown>]>([
    [
      'an upload with a comment',
      'files.completeUploadExternal',
      { files: [{ id: 'F1' }], initial_comment: 'done' },
    ],
    ['a dialog', 'views.open', { trigger_id: 't', view: { type: 'modal', blocks: [{ type: 'divider' }] } }],
    ['a bookmark of an entity', 'bookmarks.edit', { channel_id: 'C1', bookmark_id: 'B1', title: 'x' }],
    ['a canvas', 'canvases.create', { document_content: { type: 'markdown', markdown: '# x' } }],
  ])('is not in %s', (_what, method, body) => {
    expect(effects(method, body)).toEqual([])
  })
})

test('every write of the chat with an address or a layout has a rule about it', () => {
  const rules = fieldRules('chat').filter(({ reason }) => !reason.startsWith('A channel is shared'))
  const ruled = new Set(rules.flatMap(({ actions }) => actions.map((name) => `chat.${name}`)))
  const rows = connectorOfType('chat').catalogue ?? []
  const fetching = rows.filter(
    ({ effect, parameters = [] }) =>
      effect === 'write' &&
      parameters.some((name) =>
        /(?:^|_)(?:url|link|view|blocks|attachments|chunks|metadata|manifest|content|comment)$/.test(name),
      ),
  )
  const without = new Set(fetching.map(({ type }) => type).filter((type) => !ruled.has(type)))
  expect([...without]).toEqual([])
})
