import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { startRecorder } from '../../support/recorder.ts'
import { caller } from '../routes/start.ts'
import {
  CHANNEL,
  type ChatInstallation,
  type ChatPlane,
  chatCall,
  clickOf,
  deliver,
  type FakeChat,
  postedCard,
  SECRETS,
  startChatInstallation,
  startChatPlane,
} from './chat-world.ts'

let here: ChatInstallation
let chat: FakeChat
let plane: ChatPlane

beforeAll(async () => {
  here = await startChatInstallation()
  ;({ chat, plane } = here)
})
afterAll(() => here?.[Symbol.asyncDispose]())

type Block = { readonly type: string; readonly elements?: readonly Record<string, unknown>[] }
const blocksOf = (call: Record<string, unknown>) => call['blocks'] as readonly Block[]
const buttonsOf = (call: Record<string, unknown>) =>
  blocksOf(call)
    .filter((block) => block.type === 'actions')
    .flatMap((block) => block.elements ?? [])
    .map((button) => [button['action_id'], button['value']])
const clickOn = (...given: Parameters<ChatInstallation['clickOn']>) => here.clickOn(...given)

describe('an approval that opens', () => {
  test('is posted with the whole canonical request, its risk, rule and expiry, and two buttons', async () => {
    const card = await plane.hold({
      matched_rule: 'risky-needs-approval',
      required_approver_groups: ['release-managers'],
      risk_score: 0.65,
      risk_factors: ['medium', 'production'],
      parameters: { number: '1', body: { merge_method: 'squash' } },
      headers: [{ name: 'x-account', value: 'alice\u202e' }],
      unread_body: { description: 'Nobody read the body.', excerpt: 'first\u202ekibibyte' },
    })
    const call = await chatCall(chat, 'chat.postMessage', card.id)
    const text = JSON.stringify(call)
    for (const part of [
      ...['codehost.pr.merge', 'acme/site', 'PUT api.github.com/repos/acme/site/pulls/1/merge', 'builder'],
      ...['0.65, medium, production', 'risky-needs-approval', 'release-managers', card.expires_at, 'squash'],
      ...['x-account: alice\\\\u202e', 'Nobody read the body.', 'first\\\\u202ekibibyte'],
    ]) {
      expect(text).toContain(part)
    }
    expect(call).toMatchObject({ channel: CHANNEL, unfurl_links: false })
    const nonce = expect.stringMatching(/^[\w-]{43}$/)
    expect(buttonsOf(call)).toEqual([
      ['approve', nonce],
      ['deny', nonce],
    ])
    const [[, first] = [], [, second] = []] = buttonsOf(call)
    expect(first).toBe(second)
    const posts = chat.recorder.seen.filter((seen) => seen.target === '/chat.postMessage')
    expect(posts[0]?.header('authorization')).toBe(`Bearer ${SECRETS.chat_bot_token}`)
  })

  test('shows the text of the agent as a quotation, and nothing of it is formatted, linked or a mention', async () => {
    const said = '<!channel> *approved by security* <https://evil.example|see here>\nline \u202etxt.exe'
    const card = await plane.hold({
      requested_by_agent_text: said,
      target: '<@U_ANN>`*x*`',
      parameters: { title: '<!here> ```' },
    })
    const call = await chatCall(chat, 'chat.postMessage', card.id)
    const quotes = blocksOf(call).filter((block) => block.elements?.[0]?.['type'] === 'rich_text_quote')
    expect(JSON.stringify(quotes)).toContain('<!channel> *approved by security*')
    expect(JSON.stringify(quotes)).toContain('\\\\u202etxt.exe')
    expect(JSON.stringify(call)).toContain('not verified')
    expect(JSON.stringify(call)).not.toContain('"type":"mrkdwn"')
    expect(String(call['text'])).not.toContain('<')
    expect(new Set(blocksOf(call).map((block) => block.type))).toEqual(
      new Set(['header', 'rich_text', 'actions']),
    )
  })

  test('states that no request waits for an access request', async () => {
    const card = await plane.hold({ access_request: true })
    expect(JSON.stringify(await chatCall(chat, 'chat.postMessage', card.id))).toContain(
      'The agent asks for access; no request is held.',
    )
  })

  test('cannot be approved where it could not be shown whole', async () => {
    const card = await plane.hold({ parameters: { text: 'x'.repeat(20_000) } })
    const call = await chatCall(chat, 'chat.postMessage', card.id)
    expect(buttonsOf(call)).toEqual([['deny', expect.stringMatching(/^[\w-]{43}$/)]])
    expect(JSON.stringify(call)).toContain('too long for this card')
    expect(JSON.stringify(call).length).toBeLessThan(12_000)
  })

  test('cannot be approved where its headers could not be shown whole', async () => {
    const card = await plane.hold({ headers: [{ name: 'x-account', value: 'x'.repeat(10_000) }] })
    const call = await chatCall(chat, 'chat.postMessage', card.id)
    expect(buttonsOf(call)).toEqual([['deny', expect.stringMatching(/^[\w-]{43}$/)]])
    expect(JSON.stringify(call).length).toBeLessThan(12_000)
  })

  test('is posted for actions of the API as well', async () => {
    await plane.db.query(
      `insert into approvals (id, org_id, kind, agent, act_id, card, expires_at)
       select 'apr_chat_test', org_id, 'action', 'builder', 'act_chat_test', card, clock_timestamp() + interval '5 min'
       from approvals limit 1`,
    )
    await chatCall(chat, 'chat.postMessage', 'apr_chat_test')
    const answer = await deliver(plane.url, await clickOn('apr_chat_test', 'deny'))
    expect(answer.body).toEqual({ ok: true, id: 'apr_chat_test', approval_status: 'denied' })
  })
})

describe('a click', () => {
  test.each([
    ['approve', 'approved', 'Approved by ann@example.com'],
    ['deny', 'denied', 'Denied by ann@example.com'],
  ] as const)(
    'to %s answers the approval, and the message shows it without buttons',
    async (action, status, shown) => {
      const card = await plane.hold({ required_approver_groups: ['release-managers'] })
      await chatCall(chat, 'chat.postMessage', card.id)
      const answer = await deliver(plane.url, await clickOn(card.id, action))
      expect(answer).toEqual({ status: 200, body: { ok: true, id: card.id, approval_status: status } })
      const { rows } = await plane.db.query('select status, responded_by, via from approvals where id = $1', [
        card.id,
      ])
      expect(rows).toEqual([{ status, responded_by: 'ann@example.com', via: 'chat' }])
      const update = await chatCall(chat, 'chat.update', card.id)
      expect(JSON.stringify(update)).toContain(shown)
      expect(update).toMatchObject({ channel: CHANNEL, ts: expect.stringMatching(/^1700000000\./) })
      expect(buttonsOf(update)).toEqual([])
      const audit = await plane.db.query(
        "select details from audit_events where event_type = 'approval.responded' and details->>'approval_id' = $1",
        [card.id],
      )
      expect(audit.rows[0]?.details).toMatchObject({ responded_by: 'ann@example.com', via: 'chat' })
    },
  )

  test('after another user has answered gets a notice, and changes nothing', async () => {
    const card = await plane.hold()
    await postedCard(plane, chat, card.id)
    await plane.owner('POST', '/api/dashboard/proxy-approvals', { id: card.id, approved: false })
    const answer = await deliver(plane.url, await clickOn(card.id, 'approve'))
    expect(answer.body).toMatchObject({ ok: false, error: 'Approval already resolved' })
    const word = await chatCall(chat, 'chat.postEphemeral', 'already denied')
    expect(word).toMatchObject({ channel: CHANNEL, user: 'U_ANN' })
    expect(await plane.status(card.id)).toBe('denied')
  })

  test('after the expiry gets a notice', async () => {
    const card = await plane.hold()
    await postedCard(plane, chat, card.id)
    await plane.db.query(
      "update approvals set expires_at = clock_timestamp() - interval '1 s' where id = $1",
      [card.id],
    )
    const answer = await deliver(plane.url, await clickOn(card.id, 'approve'))
    expect(answer.body).toMatchObject({ ok: false, error: 'Approval expired' })
    await chatCall(chat, 'chat.postEphemeral', 'expired')
    expect(await plane.status(card.id)).not.toBe('approved')
  })

  test('of which twenty come at once answers once', async () => {
    const card = await plane.hold()
    const posted = await postedCard(plane, chat, card.id)
    const clicks = Array.from({ length: 20 }, (_, n) => clickOf(posted, n % 2 === 0 ? 'approve' : 'deny'))
    const answers = await Promise.all(clicks.map((click) => deliver(plane.url, click)))
    expect(answers.filter(({ body }) => body['ok'] === true)).toHaveLength(1)
  })
})

describe('the message', () => {
  test('shows what was answered in the dashboard', async () => {
    const card = await plane.hold()
    await chatCall(chat, 'chat.postMessage', card.id)
    await eventually('message known', async () => {
      const { rows } = await plane.db.query('select 1 from chat_messages where approval_id = $1', [card.id])
      return rows[0] ?? null
    })
    await plane.owner('POST', '/api/dashboard/proxy-approvals', {
      id: card.id,
      approved: true,
      note: 'fine <!here>',
    })
    const update = await chatCall(chat, 'chat.update', card.id)
    expect(JSON.stringify(update)).toContain('Approved by owner@example.com: fine <!here>')
    expect(buttonsOf(update)).toEqual([])
  })

  test('shows that an approval was withdrawn after it was shown as approved', async () => {
    const { id } = await plane.hold()
    await postedCard(plane, chat, id)
    const shows = (word: string) =>
      eventually(`the message says ${word}`, () => chat.messageWith(id)?.text.startsWith(`${word}: `) || null)
    await plane.owner('POST', '/api/dashboard/proxy-approvals', { id, approved: true })
    await shows('Approved')
    const withdrawn = await plane.owner('DELETE', `/api/dashboard/proxy-approvals?id=${id}`)
    expect(withdrawn.status).toBe(200)
    await shows('Cancelled')
    expect(JSON.stringify(chat.messageWith(id))).toContain('owner@example.com withdrew the approval.')
    const { rows } = await plane.db.query(
      "select event from outbox where kind = 'chat_update' and subject_id = $1 order by id",
      [id],
    )
    expect(rows).toEqual([{ event: 'approval.ended' }, { event: 'approval.cancelled' }])
  })

  test('shows that time ran out', async () => {
    const card = await plane.hold()
    await chatCall(chat, 'chat.postMessage', card.id)
    await plane.db.query(
      "update approvals set expires_at = clock_timestamp() - interval '1 s' where id = $1",
      [card.id],
    )
    const update = await chatCall(chat, 'chat.update', card.id)
    expect(JSON.stringify(update)).toContain('Expired')
  })

  test('waits as long as the chat requests, for all messages, without counting a failure', async () => {
    const limited = {
      status: 429,
      body: { ok: false, error: 'ratelimited' },
      headers: { 'retry-after': '2' },
    }
    chat.override('chat.postMessage', limited)
    const before = chat.calls('chat.postMessage').length
    const card = await plane.hold()
    await eventually('refused once', () => (chat.calls('chat.postMessage').length > before ? true : null))
    chat.recover()
    const posted = await eventually('posted', async () => {
      const { rows } = await plane.db.query(
        "select attempts from outbox where kind = 'chat_post' and subject_id = $1 and state = 'delivered'",
        [card.id],
      )
      return rows[0] ?? null
    })
    const calls = chat.recorder.seen.filter(({ target }) => target === '/chat.postMessage').slice(before)
    const [refused, next] = calls.map(({ atMs }) => atMs)
    expect((next ?? 0) - (refused ?? 0)).toBeGreaterThan(1_900)
    expect(posted.attempts).toBe(1)
  })

  test('is posted once the chat is back', async () => {
    chat.override('chat.postMessage', { status: 500, body: { ok: false, error: 'internal_error' } })
    const card = await plane.hold()
    await eventually('failed', async () => {
      const { rows } = await plane.db.query('select last_error from outbox where subject_id = $1', [card.id])
      return rows[0]?.last_error ?? null
    })
    const failed = chat.calls('chat.postMessage').length
    chat.recover()
    await plane.db.query("update outbox set next_attempt_at = clock_timestamp() where state = 'pending'")
    await eventually('posted', async () => {
      const { rows } = await plane.db.query('select 1 from chat_messages where approval_id = $1', [card.id])
      return rows[0] ?? null
    })
    const posts = chat.calls('chat.postMessage').slice(failed)
    expect(posts.filter((call) => JSON.stringify(call).includes(card.id))).toHaveLength(1)
  })

  test('is posted exactly once when several replicas poll, and a click sent to two of them counts once', async () => {
    await using second = await startChatPlane(here.database, chat)
    const holds = Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? plane : second).hold())
    const cards = await Promise.all(holds)
    const count = (id: string) =>
      chat.calls('chat.postMessage').filter((call) => JSON.stringify(call).includes(id)).length
    await eventually('all posted', async () => {
      const { rows } = await plane.db.query('select approval_id from chat_messages')
      const posted = new Set(rows.map((row) => row.approval_id))
      return cards.every((card) => posted.has(card.id)) ? true : null
    })
    expect(cards.map((card) => count(card.id))).toEqual(cards.map(() => 1))
    const click = await clickOn(cards[0]?.id ?? '', 'approve')
    const answers = await Promise.all([deliver(plane.url, click), deliver(second.url, click)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401])
  })
})

describe('an action of the API that names a webhook', () => {
  test('is posted to the chat, approved there, and its agent receives a signed notification', async () => {
    await using receiver = await startRecorder()
    const agent = { name: 'deployer', runtime: 'node', environment: 'production' }
    const created = await plane.owner('POST', '/api/dashboard/agents', agent)
    const call = caller(plane.url, { authorization: `Bearer ${created.body['api_key']}` })
    const actionSpec = {
      type: 'codehost.pr.merge',
      resource: { provider: 'codehost', target: 'acme/site', environment: 'production' },
      parameters: { number: 7 },
      risk_hints: { production_target: true },
    }
    const asked = await call('POST', '/api/v1/actions', {
      action_spec: actionSpec,
      webhook_url: receiver.url,
    })
    expect(asked.body).toMatchObject({ status: 'pending_approval' })
    const approvalId = (asked.body['approval'] as { id: string }).id
    await chatCall(chat, 'chat.postMessage', approvalId)
    expect(receiver.connections).toBe(0)
    expect((await deliver(plane.url, await clickOn(approvalId, 'approve'))).body).toMatchObject({ ok: true })
    const [seen] = await receiver.received(1)
    const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
    const headers = Object.fromEntries(names.map((name) => [name, seen?.header(name) ?? '']))
    const secret = (await plane.owner('GET', '/api/dashboard/settings/webhook-secret')).body['webhook_secret']
    expect(new Webhook(String(secret)).verify(seen?.body ?? '', headers)).toMatchObject({
      event: 'action.approved',
      status: 'allowed',
      action_request_id: asked.body['action_request_id'],
      action_spec: actionSpec,
      decision_token: null,
    })
  })
})

describe('settings and secrets', () => {
  test('the secrets of the chat are in no log and in no row in clear', async () => {
    const { rows } = await plane.db.query(
      `select t::text as row from settings t union all select t::text from outbox t
       union all select t::text from chat_messages t union all select t::text from audit_events t`,
    )
    const everything = rows.map(({ row }) => row).join('\n') + plane.log()
    expect(everything).toContain(CHANNEL)
    for (const secret of Object.values(SECRETS)) expect(everything).not.toContain(secret)
  })

  test('the webhook secret is shown to admins, rotated by them, masked in the settings and audited', async () => {
    const path = '/api/dashboard/settings/webhook-secret'
    const first = await plane.owner('GET', path)
    expect(first.body['webhook_secret']).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const second = await plane.owner('POST', path, {})
    expect(second.body['webhook_secret']).not.toBe(first.body['webhook_secret'])
    expect((await plane.owner('GET', path)).body).toEqual(second.body)
    const settings = await plane.owner('GET', '/api/dashboard/settings')
    expect(settings.body['settings']).toMatchObject({ webhook_secret: '********' })
    expect(settings.text + plane.log()).not.toContain(second.body['webhook_secret'])
    const nobody = await fetch(plane.url + path)
    expect(nobody.status).toBe(401)
  })

  test('what was and was not delivered is listed for admins', async () => {
    const ids = [(await plane.hold()).id, (await plane.hold()).id]
    const path = '/api/dashboard/notifications?state=delivered'
    for (const id of ids) {
      await eventually(`the delivery for ${id}`, async () => {
        const { body } = await plane.owner('GET', `${path}&action_request_id=${id}`)
        return body['total'] === 1 ? true : null
      })
    }
    const { body } = await plane.owner('GET', `${path}&limit=2`)
    const delivered = { receiver: 'chat', state: 'delivered', attempts: 1 }
    expect(body['notifications']).toMatchObject(
      ids.toReversed().map((subject_id) => ({ ...delivered, subject_id })),
    )
    const unknown = await plane.owner('POST', '/api/dashboard/notifications', {
      event_id: 'ntf_x',
      action: 'retry',
    })
    expect(unknown.status).toBe(404)
  })
})
