import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { caller, PASSWORD } from '../routes/start.ts'
import {
  CHANNEL,
  type ChatPlane,
  type ClickOptions,
  chatCall,
  clickOf,
  deliver,
  type FakeChat,
  type Payload,
  person,
  postedCard,
  SECRETS,
  type StoredMessage,
  startChat,
  startChatPlane,
} from './chat-world.ts'

let postgres: TestPostgres
let chat: FakeChat
let plane: ChatPlane
let card: ApprovalCard
let posted: StoredMessage
let other: StoredMessage

beforeAll(async () => {
  postgres = await workerPostgres()
  chat = await startChat()
  plane = await startChatPlane(await postgres.createMigratedDatabase(), chat)
  const settings = { ...SECRETS, chat_channel_id: CHANNEL }
  expect((await plane.owner('PUT', '/api/dashboard/settings', { settings })).status).toBe(200)
  await plane.join('ann@example.com', 'member')
  await plane.join('bob@example.com', 'member')
  chat.members.set('U_ANN', person('ann@example.com'))
  chat.members.set('U_BOB', person('bob@example.com'))
  card = await plane.hold()
  posted = await postedCard(plane, chat, card.id)
  other = await postedCard(plane, chat, (await plane.hold()).id)
})
afterAll(async () => {
  await plane?.[Symbol.asyncDispose]()
  await chat?.[Symbol.asyncDispose]()
  await postgres?.stop()
})

const nonceOf = (message: StoredMessage) =>
  String(message.blocks.find(({ type }) => type === 'actions')?.elements?.[0]?.['value'])
const approvedCount = async () =>
  (await plane.db.query("select count(*)::int as n from approvals where status = 'approved'")).rows[0]?.n
const refusals = async () =>
  (await plane.db.query("select details from audit_events where event_type = 'approval.refused' order by id"))
    .rows as { details: Record<string, unknown> }[]

/** Nothing is answered, the user who clicked reads why, and the audit log has one event about it. */
async function expectRefused(click: ReturnType<typeof clickOf>): Promise<void> {
  const [before, asked] = [await refusals(), chat.calls('users.info').length]
  const answer = await deliver(plane.url, click)
  expect(answer).toMatchObject({ status: 200, body: { ok: false, error: 'forbidden' } })
  expect(answer.body['message']).toMatch(/Your answer was not stored: .* dashboard\.$/)
  expect(await approvedCount()).toBe(0)
  expect(await plane.status(card.id)).toBe('pending')
  const after = await refusals()
  expect(after).toHaveLength(before.length + 1)
  expect(after.at(-1)?.details).toMatchObject({
    via: 'chat',
    chat_user: 'U_ANN',
    why: answer.body['message'],
  })
  expect(chat.calls('users.info')).toHaveLength(asked)
}

/** What anybody with the same app may post. */
function lure(channel: string, value: string): StoredMessage {
  const button = (id: string, text: string) => ({
    ...{ type: 'button', action_id: id, value, text: { type: 'plain_text', text } },
  })
  const blocks = [
    { type: 'header', text: { type: 'plain_text', text: 'Lunch on Friday?' } },
    { type: 'actions', elements: [button('approve', 'Count me in'), button('deny', 'Not me')] },
  ]
  return chat.write({ channel, text: 'Lunch on Friday?', blocks })
}

describe('a signed click on another message of the same bot', () => {
  test.each([
    ['the id of the approval, elsewhere', 'C0LUNCH', () => card.id],
    ['the id of the approval, in the approvals channel', CHANNEL, () => card.id],
    ['the nonce of the card, elsewhere', 'C0LUNCH', () => nonceOf(posted)],
    ['the nonce of the card, in the approvals channel', CHANNEL, () => nonceOf(posted)],
    ['nothing that exists', CHANNEL, () => 'x'.repeat(43)],
    ['an empty value', CHANNEL, () => ''],
  ])('answers nothing, whatever its button bears: %s', async (_name, channel, value) => {
    await expectRefused(clickOf(lure(channel, value()), 'approve'))
  })

  test('answers nothing with a copy of the card, block by block', async () => {
    for (const channel of [CHANNEL, 'C0LUNCH']) {
      await expectRefused(clickOf(chat.write({ ...posted, channel, ts: undefined }), 'approve'))
    }
  })
})

type Change = (payload: Payload) => void
const blocksOf = (payload: Payload) => payload.message?.['blocks'] as Record<string, unknown>[]
const elementsOf = (block: Record<string, unknown> | undefined) =>
  block?.['elements'] as Record<string, unknown>[]
const actionsOf = (payload: Payload) => blocksOf(payload).find((block) => block['type'] === 'actions')
const textOf = (block: Record<string, unknown> | undefined) => elementsOf(elementsOf(block)[0])[0]

const PLACES: Record<string, Change> = {
  'another channel': (p) => {
    p.channel = { id: 'C0LUNCH' }
  },
  'another channel in the container': (p) => {
    p.container = { ...p.container, channel_id: 'C0LUNCH' }
  },
  'another channel in both': (p) => {
    p.channel = { id: 'C0LUNCH' }
    p.container = { ...p.container, channel_id: 'C0LUNCH' }
  },
  'the channel in lower case': (p) => {
    p.channel = { id: CHANNEL.toLowerCase() }
    p.container = { ...p.container, channel_id: CHANNEL.toLowerCase() }
  },
  'no channel': (p) => {
    p.channel = undefined
  },
  'no container': (p) => {
    p.container = undefined
  },
  'no channel in the container': (p) => {
    p.container = { type: 'message', message_ts: posted.ts }
  },
  'no time stamp in the container': (p) => {
    p.container = { type: 'message', channel_id: CHANNEL }
  },
  'a view instead of a message': (p) => {
    p.container = { type: 'view', view_id: 'V1' }
  },
  'a container of another kind': (p) => {
    p.container = { ...p.container, type: 'message_attachment' }
  },
  'an ephemeral message': (p) => {
    p.container = { ...p.container, is_ephemeral: true }
  },
  'no message': (p) => {
    p.message = undefined
  },
  'a message without blocks': (p) => {
    p.message = { ts: posted.ts }
  },
  'blocks that are no list': (p) => {
    p.message = { ...p.message, blocks: { 0: blocksOf(p)[0] } }
  },
  'another time stamp in the message': (p) => {
    p.message = { ...p.message, ts: other.ts }
  },
  'another time stamp in the container': (p) => {
    p.container = { ...p.container, message_ts: other.ts }
  },
  'the time stamp of another card': (p) => {
    p.message = { ...p.message, ts: other.ts }
    p.container = { ...p.container, message_ts: other.ts }
  },
  'the time stamp with a zero behind it': (p) => {
    p.message = { ...p.message, ts: `${posted.ts}0` }
    p.container = { ...p.container, message_ts: `${posted.ts}0` }
  },
  'another workspace': (p) => {
    p.team = { id: 'T0OTHER' }
  },
  'another workspace in the message': (p) => {
    p.message = { ...p.message, team: 'T0OTHER' }
  },
  'another workspace in both': (p) => {
    p.team = { id: 'T0OTHER' }
    p.message = { ...p.message, team: 'T0OTHER' }
  },
  'two clicks at once': (p) => {
    p.actions.push({ ...p.actions[0], action_id: 'deny' })
  },
}

const CONTENTS: Record<string, Change> = {
  'another target in the card': (p) => {
    const fact = textOf(blocksOf(p)[1])
    if (fact) fact['text'] = String(fact['text']).replace('acme/site', 'acme/test')
  },
  'one character more': (p) => {
    const fact = textOf(blocksOf(p)[1])
    if (fact) fact['text'] = `${fact['text']} `
  },
  'another letter case': (p) => {
    const fact = textOf(blocksOf(p)[1])
    if (fact) fact['text'] = String(fact['text']).toUpperCase()
  },
  'another title': (p) => {
    const header = blocksOf(p)[0]
    if (header) header['text'] = { type: 'plain_text', text: 'Lunch on Friday?' }
  },
  'another label on the button': (p) => {
    const [button] = elementsOf(actionsOf(p))
    if (button) button['text'] = { type: 'plain_text', text: 'Count me in', emoji: true }
  },
  'labels that are swapped': (p) => {
    const [approve, deny] = elementsOf(actionsOf(p))
    if (approve && deny) [approve['text'], deny['text']] = [deny['text'], approve['text']]
  },
  'another style of the button': (p) => {
    const [button] = elementsOf(actionsOf(p))
    if (button) button['style'] = 'danger'
  },
  'one button less': (p) => {
    elementsOf(actionsOf(p)).pop()
  },
  'a button more': (p) => {
    elementsOf(actionsOf(p)).push({ type: 'button', action_id: 'x', value: 'y' })
  },
  'a link on the button': (p) => {
    const [button] = elementsOf(actionsOf(p))
    if (button) button['url'] = 'https://evil.example'
  },
  'a block more': (p) => {
    blocksOf(p).push({ type: 'section', text: { type: 'mrkdwn', text: 'Only a test.' } })
  },
  'a block less': (p) => {
    blocksOf(p).splice(1, 1)
  },
  'blocks in another order': (p) => {
    blocksOf(p).reverse()
  },
  'no blocks': (p) => {
    blocksOf(p).length = 0
  },
  'an image before all': (p) => {
    blocksOf(p).unshift({ type: 'image', image_url: 'https://evil.example/x.png', alt_text: 'x' })
  },
  'an attachment': (p) => {
    p.message = { ...p.message, attachments: [{ text: 'Only a test.' }] }
  },
  'a file': (p) => {
    p.message = { ...p.message, files: [{ id: 'F1' }] }
  },
  'text that is set in another style': (p) => {
    const fact = textOf(blocksOf(p)[1])
    if (fact) fact['style'] = { strike: true }
  },
  'preformatted text that became a section': (p) => {
    const [pre] = elementsOf(blocksOf(p)[1] ?? {})
    if (pre) pre['type'] = 'rich_text_section'
  },
  'the buttons of another card': (p) => {
    const index = blocksOf(p).findIndex((block) => block['type'] === 'actions')
    blocksOf(p)[index] = { ...other.blocks.find(({ type }) => type === 'actions') }
  },
  'the blocks of another card': (p) => {
    p.message = { ...p.message, blocks: other.blocks }
  },
  'blocks that are nested without end': (p) => {
    let deep: unknown = 'x'
    for (let level = 0; level < 500; level++) deep = { elements: [deep] }
    blocksOf(p).push({ type: 'rich_text', elements: [deep] })
  },
}

const VALUES: Record<string, () => ClickOptions> = {
  'the id of the approval': () => ({ value: card.id }),
  'the nonce of another card': () => ({ value: nonceOf(other) }),
  'the nonce and a blank': () => ({ value: `${nonceOf(posted)} ` }),
  'half a nonce': () => ({ value: nonceOf(posted).slice(0, 20) }),
  'an empty value': () => ({ value: '' }),
  'a nonce in other letters': () => ({ value: nonceOf(posted).toLowerCase() }),
}

describe('a signed click on our own card is refused', () => {
  test.each(Object.entries(PLACES))('when the payload has %s', async (_name, change) => {
    await expectRefused(clickOf(structuredClone(posted), 'approve', { change }))
  })

  test.each(Object.entries(CONTENTS))('when the message has %s', async (_name, change) => {
    await expectRefused(clickOf(structuredClone(posted), 'approve', { change }))
  })

  test.each(Object.entries(VALUES))('when the button bears %s', async (_name, options) => {
    await expectRefused(clickOf(posted, 'approve', options()))
  })

  test('when a client with the same app rewrote the card and left the buttons', async () => {
    const blocks = posted.blocks.map((block) =>
      block.type === 'header'
        ? { ...block, text: { type: 'plain_text', text: 'Lunch on Friday?', emoji: true } }
        : block,
    )
    const rewritten = chat.write({ ...posted, blocks })
    expect(rewritten.ts).toBe(posted.ts)
    await expectRefused(clickOf(rewritten, 'approve'))
    chat.write({ ...posted })
  })

  test('and only the user who clicked sees the reason', async () => {
    await expectRefused(clickOf(posted, 'approve', { value: card.id }))
    const word = await chatCall(chat, 'chat.postEphemeral', 'Your answer was not stored')
    expect(word).toMatchObject({ channel: expect.any(String), user: 'U_ANN' })
  })
})

describe('a card', () => {
  test('that the provider gives back in its own form still counts, however that form differs', async () => {
    const held = await plane.hold({ target: 'a & <b> "c" 😀 &amp; done', parameters: { text: '👍 & <x>' } })
    const shown = await postedCard(plane, chat, held.id)
    const click = clickOf(structuredClone(shown), 'approve', {
      change: (payload) => {
        for (const [index, block] of blocksOf(payload).entries()) {
          block['block_id'] = `other-${index}`
          const [inner] = block['type'] === 'rich_text' ? elementsOf(block) : []
          if (inner) inner['elements'] = elementsOf(inner).flatMap(split)
        }
        delete payload.message?.['team']
      },
    })
    expect((await deliver(plane.url, click)).body).toMatchObject({ ok: true, approval_status: 'approved' })
    expect(await plane.status(held.id)).toBe('approved')
  })

  test('whose place is not recorded yet answers nothing', async () => {
    const held = await plane.hold()
    const shown = await postedCard(plane, chat, held.id)
    await plane.db.query('delete from chat_messages where approval_id = $1', [held.id])
    expect((await deliver(plane.url, clickOf(shown, 'approve'))).body).toMatchObject({ ok: false })
    expect(await plane.status(held.id)).toBe('pending')
  })

  test('of an earlier version, without a nonce, is drawn anew and then counts', async () => {
    const held = await plane.hold()
    const shown = await postedCard(plane, chat, held.id)
    await plane.db.query(
      'update chat_messages set nonce_sha256 = null, content_sha256 = null where approval_id = $1',
      [held.id],
    )
    const early = await deliver(plane.url, clickOf(shown, 'approve'))
    expect(early.body).toMatchObject({ ok: false, message: expect.stringContaining('click again') })
    const again = await eventually('drawn anew', async () => {
      const { rows } = await plane.db.query(
        'select 1 from chat_messages where approval_id = $1 and nonce_sha256 is not null',
        [held.id],
      )
      const now = chat.messageWith(held.id)
      return rows[0] !== undefined && now && nonceOf(now) !== nonceOf(shown) ? now : null
    })
    expect(again.ts).toBe(shown.ts)
    expect((await deliver(plane.url, clickOf(shown, 'approve'))).body).toMatchObject({ ok: false })
    expect(await plane.status(held.id)).toBe('pending')
    expect((await deliver(plane.url, clickOf(again, 'approve'))).body).toMatchObject({ ok: true })
    expect(await plane.status(held.id)).toBe('approved')
  })

  test('of several groups is drawn anew after each answer, and says who has answered', async () => {
    const sets = ['security', 'finance'].map((group) => ({ policy: group, groups: [group], distinct: false }))
    const held = await plane.hold({
      required_approver_groups: ['security', 'finance'],
      required_groups: sets,
    })
    const drawn = async (shown: StoredMessage) =>
      eventually('drawn anew', async () => {
        const now = await postedCard(plane, chat, held.id)
        const { rows } = await plane.db.query(
          'select 1 from chat_messages where approval_id = $1 and nonce_sha256 is not null',
          [held.id],
        )
        return rows[0] !== undefined && nonceOf(now) !== nonceOf(shown) ? now : null
      })
    await plane.join('sam@example.com', 'member', ['security'])
    await plane.join('fin@example.com', 'member', ['finance'])
    await plane.join('fay@example.com', 'member', ['finance'])
    for (const name of ['sam', 'fin', 'fay']) chat.members.set(`U_${name}`, person(`${name}@example.com`))
    const first = await postedCard(plane, chat, held.id)
    const one = await deliver(plane.url, clickOf(first, 'approve', { user: 'U_sam' }))
    expect(one.body).toMatchObject({ ok: true, approval_status: 'pending' })
    const early = await deliver(plane.url, clickOf(first, 'approve', { user: 'U_fin' }))
    expect(early.body).toMatchObject({ ok: false, error: 'forbidden' })
    const second = await drawn(first)
    expect(JSON.stringify(second)).toContain('security and finance')
    expect(JSON.stringify(second)).toContain('sam@example.com')
    expect((await deliver(plane.url, clickOf(first, 'approve', { user: 'U_fin' }))).body).toMatchObject({
      ok: false,
    })
    expect((await deliver(plane.url, clickOf(second, 'approve', { user: 'U_sam' }))).body).toMatchObject({
      ok: false,
      error: 'Already answered',
    })
    expect(await plane.status(held.id)).toBe('pending')
    const two = await deliver(plane.url, clickOf(second, 'approve', { user: 'U_fin' }))
    expect(two.body).toMatchObject({ ok: true, approval_status: 'approved' })
  })

  test('is updated when another user answers elsewhere', async () => {
    const sets = ['security', 'finance'].map((group) => ({ policy: group, groups: [group], distinct: false }))
    const held = await plane.hold({
      required_approver_groups: ['security', 'finance'],
      required_groups: sets,
    })
    const first = await postedCard(plane, chat, held.id)
    await plane.join('eve@example.com', 'member', ['security'])
    const answer = await fetch(`${plane.url}/api/auth/login`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ email: 'eve@example.com', password: PASSWORD }),
    })
    const eve = caller(plane.url, { cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' })
    const body = { id: held.id, approved: true }
    expect((await eve('POST', '/api/dashboard/proxy-approvals', body)).body['status']).toBe('pending')
    await eventually('drawn anew', () => {
      const now = chat.messageWith(held.id)
      return now && nonceOf(now) !== nonceOf(first) && JSON.stringify(now).includes('eve@example.com')
        ? now
        : null
    })
  })

  test('answers once for its nonce: a second click, by whomever, changes nothing', async () => {
    const held = await plane.hold()
    const shown = await postedCard(plane, chat, held.id)
    expect((await deliver(plane.url, clickOf(shown, 'deny'))).body).toMatchObject({ ok: true })
    for (const user of ['U_ANN', 'U_BOB']) {
      expect((await deliver(plane.url, clickOf(shown, 'approve', { user }))).body).toMatchObject({
        ok: false,
      })
    }
    expect(await plane.status(held.id)).toBe('denied')
  })

  test('has a nonce of its own, which neither the database nor the log contains in plain text', async () => {
    expect(nonceOf(posted)).not.toBe(nonceOf(other))
    const { rows } = await plane.db.query(
      'select m::text as row from chat_messages m union all select o::text from outbox o union all select e::text from audit_events e',
    )
    expect(JSON.stringify(rows)).not.toContain(nonceOf(posted))
    expect(plane.log()).not.toContain(nonceOf(posted))
  })
})

/** The provider may split text and name emoji. */
function split(element: Record<string, unknown>): Record<string, unknown>[] {
  if (element['type'] !== 'text') return [element]
  const { text, ...rest } = element
  return String(text)
    .split(/(😀|👍)/u)
    .filter((part) => part !== '')
    .flatMap((part): Record<string, unknown>[] => {
      const point = part.codePointAt(0) ?? 0
      if (point >= 0x1f000) return [{ ...rest, type: 'emoji', name: 'x', unicode: point.toString(16) }]
      const middle = Math.floor(part.length / 2)
      const pieces = [part.slice(0, middle), part.slice(middle)].filter((piece) => piece !== '')
      return pieces.map((piece) => ({ ...rest, text: piece }))
    })
}
