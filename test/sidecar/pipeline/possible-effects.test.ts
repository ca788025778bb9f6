import { describe, expect, it } from 'vitest'
import type { Answer } from '../../support/recorder.ts'
import { JSON_BODY, start } from './pipeline-world.ts'
import { STARTER } from './starter-rules.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import { type Rules, SECRET, type World } from './test-world.ts'

const CHANNELS: Readonly<Record<string, object>> = {
  C1: { is_ext_shared: false, is_pending_ext_shared: false },
  C2: { is_ext_shared: true, is_pending_ext_shared: false },
  C3: { is_ext_shared: false, is_pending_ext_shared: true },
  D1: { is_im: true, user: 'U1' },
}
const NODES: Readonly<Record<string, object>> = {
  I_1: { __typename: 'Issue', repository: { nameWithOwner: 'acme/site' } },
  LA_bug: { __typename: 'Label', name: 'bug', repository: { nameWithOwner: 'acme/site' } },
  LA_own: { __typename: 'Label', name: 'autofix', repository: { nameWithOwner: 'acme/site' } },
  LA_claude: { __typename: 'Label', name: 'claude', repository: { nameWithOwner: 'acme/site' } },
  U_ada: { __typename: 'User', actor: 'ada' },
  BOT_copilot: { __typename: 'Bot', actor: 'copilot-swe-agent' },
}

const provider: Answer = (request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { pathname, searchParams } = new URL(`http://provider${request.url}`)
    const channel = CHANNELS[searchParams.get('channel') ?? '']
    const text = Buffer.concat(chunks).toString()
    const node = text === '' ? null : (NODES[JSON.parse(text).variables.id] ?? null)
    const isChat = pathname === '/api/conversations.info'
    const body = isChat ? { ok: channel !== undefined, channel } : { data: { node } }
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(body))
  })
}

async function startAt(rules: Rules): Promise<World> {
  const world = await start(rules)
  world.upstream.answerLookUpsWith(provider)
  return world
}

const denying = (effect: string, type: 'chat' | 'codehost'): Rules => ({
  connectors: [{ type, agentTriggers: { accounts: [], labels: ['autofix'], mentions: [] } }],
  permissions: [[`${type}.*`, 'allow']],
  policies: [
    {
      document: {
        rules: [{ name: 'r', conditions: [`"${effect}" in action.effects`], decision: 'deny' }],
      },
    },
  ],
})
const NO_EGRESS = denying('egress', 'chat')
const NO_AGENTS = denying('delegate', 'codehost')

const chat = (method: string, body: object): TestExchangeInput => ({
  ...{ method: 'POST', host: 'slack.com', target: `/api/${method}` },
  ...{ headers: JSON_BODY, body: JSON.stringify(body) },
})
const post = (channel: string) => chat('chat.postMessage', { channel, text: 'done' })
const mutation = (text: string): TestExchangeInput => ({
  ...{ method: 'POST', target: '/graphql', headers: JSON_BODY },
  body: JSON.stringify({ query: `mutation { ${text} { clientMutationId } }` }),
})

const asked = ({ upstream }: World) => upstream.lookUps.map(({ method, target }) => `${method} ${target}`)

describe('a channel that is shared with another organization', () => {
  it.each([
    ['C1', 200, []],
    ['C2', 403, ['egress']],
    ['C3', 403, ['egress']],
    ['C9', 403, ['egress']],
    ['D1', 403, ['egress']],
    ['#general', 403, ['egress']],
    ['U1', 403, ['egress']],
    ['C1&channel=C2', 403, ['egress']],
  ])('is found by a look-up, or counts as shared: %s is %i', async (channel, status, effects) => {
    const world = await startAt(NO_EGRESS)
    const { reply } = await world.send(post(channel))
    expect(reply.status).toBe(status)
    expect(world.records[0]?.effects ?? []).toEqual(effects)
    expect(world.upstream.seen).toHaveLength(status === 200 ? 1 : 0)
    expect(world.records).toHaveLength(1)
  })

  it.each([
    ['chat.update', { channel: 'C2', ts: '1', text: 'x' }],
    ['chat.meMessage', { channel: 'C2', text: 'x' }],
    ['chat.postEphemeral', { channel: 'C2', user: 'U1', text: 'x' }],
    ['chat.scheduleMessage', { channel: 'C2', text: 'x', post_at: 1 }],
    ['chat.startStream', { channel: 'C2' }],
    ['chat.appendStream', { channel: 'C2', ts: '1' }],
    ['files.completeUploadExternal', { channel_id: 'C2', files: [{ id: 'F1' }] }],
    ['files.remote.share', { channels: 'C1,C2', file: 'F1' }],
    ['bookmarks.add', { channel_id: 'C2', title: 't' }],
    ['conversations.setTopic', { channel: 'C2', topic: 'x' }],
    ['conversations.canvases.create', { channel_id: 'C2' }],
  ])('receives data by %s', async (method, body) => {
    const world = await startAt(NO_EGRESS)
    expect((await world.send(chat(method, body))).reply.status).toBe(403)
    expect(world.upstream.seen).toEqual([])
    expect(asked(world)).toContain('GET /api/conversations.info?channel=C2')
    const inside = JSON.parse(JSON.stringify(body).replace('C2', 'C1'))
    expect((await world.send(chat(method, inside))).reply.status).toBe(200)
  })

  it('receives no file whose form the gateway does not read', async () => {
    const world = await startAt({ ...NO_EGRESS, connectors: [{ type: 'chat', bodies: 'opaque' }] })
    const { reply } = await world.send({
      ...{ method: 'POST', host: 'slack.com', target: '/api/files.upload' },
      headers: ['Content-Type', 'multipart/form-data; boundary=x'],
      body: '--x\r\nContent-Disposition: form-data; name="channels"\r\n\r\nC2\r\n--x--\r\n',
    })
    expect(reply.status).toBe(415)
    expect(world.upstream.seen).toEqual([])
  })

  it('is looked up once in a while, with the credential of the connector, and counted', async () => {
    const world = await startAt(NO_EGRESS)
    await world.send(post('C1'))
    await world.send(post('C1'))
    expect(asked(world)).toEqual(['GET /api/conversations.info?channel=C1'])
    expect(world.lookUps).toEqual(['channel answered', 'channel kept'])
    expect(world.upstream.lookUps[0]?.header('authorization')).toBe(`token ${SECRET}`)
  })

  it('is not looked up where no rule reads effect classes, nor where the message is denied all the same', async () => {
    const open = await startAt({ connectors: [{ type: 'chat' }], permissions: [['chat.*', 'allow']] })
    expect((await open.send(post('C2'))).reply.status).toBe(200)
    const closed = await startAt({ ...NO_EGRESS, permissions: [['chat.*', 'deny']] })
    expect((await closed.send(post('C2'))).reply.status).toBe(403)
    expect([asked(open), asked(closed)]).toEqual([[], []])
  })

  it('decides also where a rule allows only what goes out', async () => {
    const conditions = ['!("egress" in action.effects)']
    const policies = [{ document: { rules: [{ name: 'r', conditions, decision: 'deny' }] } }]
    const world = await startAt({ ...NO_EGRESS, policies })
    expect((await world.send(post('C1'))).reply.status).toBe(403)
    expect((await world.send(post('C2'))).reply.status).toBe(200)
  })

  it('needs a person under the rules of the first start, and the card says why', async () => {
    const world = await startAt(STARTER)
    expect((await world.send(post('C1'))).reply.status).toBe(200)
    expect(world.holds).toEqual([])
    await world.send(post('C2'))
    expect(world.holds[0]).toMatchObject({ action_type: 'chat.message.post', effects: ['egress'] })
    expect(JSON.stringify(world.holds[0])).toContain(
      'The channel is shared with another organization, whose users can read it.',
    )
  })
})

describe('an agent that a GraphQL mutation names by an id', () => {
  it.each([
    ['addLabelsToLabelable(input: {labelableId: "I_1", labelIds: ["LA_bug"]})', 200],
    ['addLabelsToLabelable(input: {labelableId: "I_1", labelIds: ["LA_own"]})', 403],
    ['addLabelsToLabelable(input: {labelableId: "I_1", labelIds: "LA_claude"})', 403],
    ['addLabelsToLabelable(input: {labelableId: "I_1", labelIds: ["LA_bug", "LA_gone"]})', 403],
    ['createIssue(input: {repositoryId: "R_1", title: "t", labelIds: ["LA_claude"]})', 403],
    ['updateIssue(input: {id: "I_1", state: CLOSED, labelIds: ["LA_own"]})', 403],
    ['updateIssue(input: {id: "I_1", assigneeIds: ["BOT_copilot"]})', 403],
    ['updatePullRequest(input: {pullRequestId: "I_1", labelIds: ["LA_own"]})', 403],
    ['updatePullRequest(input: {pullRequestId: "I_1", assigneeIds: ["U_ada"]})', 200],
    ['addAssigneesToAssignable(input: {assignableId: "I_1", assigneeIds: ["U_ada"]})', 200],
    ['addAssigneesToAssignable(input: {assignableId: "I_1", assigneeIds: ["U_ada", "BOT_copilot"]})', 403],
    ['replaceActorsForAssignable(input: {assignableId: "I_1", actorIds: ["BOT_copilot"]})', 403],
    ['requestReviews(input: {pullRequestId: "I_1", botIds: ["BOT_copilot"]})', 403],
    ['requestReviewsByLogin(input: {pullRequestId: "I_1", botLogins: ["copilot"]})', 403],
    ['removeLabelsFromLabelable(input: {labelableId: "I_1", labelIds: ["LA_own"]})', 200],
    ['updateIssue(input: {id: "I_1", labelIds: []})', 200],
  ])('is found by a look-up, or counts as one: %s is %i', async (text, status) => {
    const world = await startAt(NO_AGENTS)
    expect((await world.send(mutation(text))).reply.status).toBe(status)
    expect(world.upstream.seen).toHaveLength(status === 200 ? 1 : 0)
    expect(world.records).toHaveLength(1)
  })

  it('counts as one beyond the look-ups of a request', async () => {
    const world = await startAt(NO_AGENTS)
    const ids = Array.from({ length: 9 }, (_, n) => `"LA_bug${n}"`)
    const text = `addLabelsToLabelable(input: {labelableId: "I_1", labelIds: [${ids}]})`
    expect((await world.send(mutation(text))).reply.status).toBe(403)
    expect(asked(world)).toEqual([])
  })

  it('is not looked up where no rule reads effect classes', async () => {
    const world = await startAt({ permissions: [['codehost.*', 'allow']] })
    const text = 'addLabelsToLabelable(input: {labelableId: "I_1", labelIds: ["LA_own"]})'
    expect((await world.send(mutation(text))).reply.status).toBe(200)
    expect(asked(world)).toEqual([])
  })
})
