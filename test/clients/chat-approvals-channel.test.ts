import { WebClient } from '@slack/web-api'
import { afterEach, expect, test } from 'vitest'
import {
  approvalsChannelElsewherePolicy,
  approvalsChannelPolicy,
} from '../../core/decision/policies/approvals-channel.ts'
import { startWorld, type World } from '../sidecar/pipeline/test-world.ts'

const CHANNEL = 'C0APPROVALS'
const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world[Symbol.asyncDispose]()
})

async function start(): Promise<World> {
  const world = await startWorld({
    connectors: [{ id: 'conn_chat', name: 'chat', type: 'chat', domains: ['slack.com', 'files.slack.com'] }],
    permissions: [['chat.*', 'allow']],
    policies: [approvalsChannelPolicy(CHANNEL), approvalsChannelElsewherePolicy(CHANNEL)],
  })
  worlds.push(world)
  return world
}

/** The unmodified client of the chat, whose requests pass the pipeline. */
function clientOf(world: World): { readonly client: WebClient; readonly replies: string[] } {
  const replies: string[] = []
  const send = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, {
      ...init,
      ...(init?.body == null ? {} : { duplex: 'half' }),
    } as RequestInit)
    const { host, pathname, search } = new URL(request.url)
    const { reply } = await world.send({
      ...{ method: request.method, host, target: pathname + search },
      headers: [...request.headers]
        .flat()
        .filter((_text, at, all) => all[at - (at % 2)] !== 'content-length'),
      body: Buffer.from(await request.arrayBuffer()),
    })
    replies.push(`${request.method} ${pathname} ${reply.status} ${reply.text()}`)
    const body = {
      ok: true,
      upload_url: 'https://files.slack.com/upload/v1/abc',
      file_id: 'F1',
      files: [{ id: 'F1' }],
    }
    return reply.status === 200 ? Response.json(body) : new Response('refused', { status: 400 })
  }
  const logger = {
    debug() {},
    info() {},
    warn() {},
    error() {},
    setLevel() {},
    getLevel: () => 'error',
    setName() {},
  }
  const options = { fetch: send, retryConfig: { retries: 0 }, logger }
  return { client: new WebClient('xoxb-placeholder', options as never), replies }
}

const CALLS: Record<string, (client: WebClient, channel: string) => Promise<unknown>> = {
  'chat.postMessage': (client, channel) => client.chat.postMessage({ channel, text: 'x', blocks: [] }),
  'conversations.history': (client, channel) => client.conversations.history({ channel }),
  'canvases.access.set': (client, channel) =>
    client.canvases.access.set({ canvas_id: 'F1', access_level: 'read', channel_ids: ['C0OTHER', channel] }),
  'admin.users.invite': (client, channel) =>
    client.admin.users.invite({
      channel_ids: ['C0OTHER', channel] as never,
      email: 'a@example.com',
      team_id: 'T1',
    }),
  'usergroups.create': (client, channel) =>
    client.usergroups.create({ name: 'x', channels: ['C0OTHER', channel] as never }),
  'files.completeUploadExternal': (client, channel) =>
    client.files.completeUploadExternal({ files: [{ id: 'F1', title: 'x' }], channel_id: channel }),
  filesUploadV2: (client, channel) =>
    client.filesUploadV2({ channel_id: channel, file: Buffer.from('text'), filename: 'a.txt' }),
  'bookmarks.add': (client, channel) =>
    client.bookmarks.add({ channel_id: channel, title: 'x', type: 'link', link: 'https://example.com' }),
}
const ELSEWHERE: Record<string, (client: WebClient) => Promise<unknown>> = {
  'users.setPhoto': (client) => client.users.setPhoto({ image: Buffer.from('png') }),
  'files.remote.add': (client) =>
    client.files.remote.add({
      external_id: 'a',
      external_url: 'https://example.com',
      title: 'x',
    } as never),
  'views.open': (client) =>
    client.views.open({
      trigger_id: '1',
      view: { type: 'modal', title: { type: 'plain_text', text: 'x' }, blocks: [] },
    }),
  'search.messages': (client) => client.search.messages({ query: 'refund' }),
  'conversations.list': (client) => client.conversations.list({ types: 'public_channel', limit: 10 }),
  'auth.test': (client) => client.auth.test(),
}

test.each(Object.entries(CALLS))(
  '%s of the client passes for other channels, and only for them',
  async (_name, call) => {
    const world = await start()
    const { client, replies } = clientOf(world)
    await call(client, 'C0THIRD')
    expect(replies.length).toBeGreaterThan(0)
    const before = replies.length
    await expect(call(client, CHANNEL)).rejects.toThrow()
    expect(replies.slice(before).at(-1)).toContain('approvals are answered')
  },
)

test.each(Object.entries(ELSEWHERE))(
  '%s of the client, which names no channel, passes',
  async (_name, call) => {
    const world = await start()
    const { client, replies } = clientOf(world)
    await call(client).catch((error: unknown) => replies.push(String(error)))
    expect(replies).toEqual([expect.stringContaining(' 200 ')])
  },
)
