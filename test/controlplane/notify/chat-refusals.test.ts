import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type ChatInstallation,
  type ChatPlane,
  chatCall,
  type clickOf,
  deliver,
  type FakeChat,
  person,
  startChatInstallation,
} from './chat-world.ts'

let here: ChatInstallation
let chat: FakeChat
let plane: ChatPlane

beforeAll(async () => {
  here = await startChatInstallation()
  ;({ chat, plane } = here)
})
afterAll(() => here?.[Symbol.asyncDispose]())

const clickOn = (...given: Parameters<ChatInstallation['clickOn']>) => here.clickOn(...given)
const usersAsked = () => chat.calls('users.info').length

describe('a click that is refused', () => {
  test.each([
    ['signed with another secret', { secret: 'another' }],
    ['signed more than five minutes ago', { at: -302 }],
    ['signed in the future', { at: 302 }],
  ])('%s: no request is sent and no approval is answered', async (_name, options) => {
    const card = await plane.hold()
    const asked = usersAsked()
    const answer = await deliver(plane.url, await clickOn(card.id, 'approve', options))
    expect(answer).toMatchObject({ status: 401, body: { error: 'Unauthorized' } })
    expect(usersAsked()).toBe(asked)
    expect(await plane.status(card.id)).toBe('pending')
  })

  test.each([
    ['no signature', (click: ReturnType<typeof clickOf>) => ({ ...click, signature: '' })],
    ['a short signature', (click: ReturnType<typeof clickOf>) => ({ ...click, signature: 'v0=ab' })],
    [
      'a fresh time stamp on an old signature',
      (click: ReturnType<typeof clickOf>) => ({ ...click, timestamp: String(Number(click.timestamp) + 1) }),
    ],
    ['another body', (click: ReturnType<typeof clickOf>) => ({ ...click, body: `${click.body}&x=1` })],
    [
      'a time stamp that is no number',
      (click: ReturnType<typeof clickOf>) => ({ ...click, timestamp: 'now' }),
    ],
  ])('%s', async (_name, change) => {
    const card = await plane.hold()
    const answer = await deliver(plane.url, change(await clickOn(card.id, 'approve')))
    expect(answer.status).toBe(401)
    expect(await plane.status(card.id)).toBe('pending')
  })

  test('sent a second time', async () => {
    const first = await plane.hold()
    const click = await clickOn(first.id, 'approve')
    expect((await deliver(plane.url, click)).status).toBe(200)
    const asked = usersAsked()
    const answer = await deliver(plane.url, click)
    expect(answer).toMatchObject({ status: 401, body: { message: 'This callback was received before.' } })
    expect(usersAsked()).toBe(asked)
  })

  test.each([
    ['a viewer', 'U_VIC', person('vic@example.com'), /role member/],
    ['somebody without a user here', 'U_ZOE', person('zoe@example.com'), /no verified e-mail/],
    [
      'somebody whose address is not confirmed',
      'U_EVE',
      person('ann@example.com', { is_email_confirmed: false }),
      /no verified e-mail/,
    ],
    [
      'a guest from another workspace',
      'U_FAR',
      person('ann@example.com', { team_id: 'T0OTHER' }),
      /no verified e-mail/,
    ],
    ['a stranger', 'U_STR', person('ann@example.com', { is_stranger: true }), /no verified e-mail/],
    [
      'an account that was deleted',
      'U_DEL',
      person('ann@example.com', { deleted: true }),
      /no verified e-mail/,
    ],
    ['a bot', 'U_BOT', person('ann@example.com', { is_bot: true }), /no verified e-mail/],
    ['an account without an address', 'U_NIL', person('', { profile: {} }), /no verified e-mail/],
    ['somebody whom the chat does not know', 'U_WHO', null, /no verified e-mail/],
  ] as const)('of %s, with the reason in the reply', async (_name, user, who, why) => {
    if (who !== null) chat.members.set(user, who)
    const card = await plane.hold()
    const answer = await deliver(plane.url, await clickOn(card.id, 'approve', { user }))
    expect(answer).toMatchObject({ status: 200, body: { ok: false, message: expect.stringMatching(why) } })
    await chatCall(chat, 'chat.postEphemeral', user)
    expect(await plane.status(card.id)).toBe('pending')
  })

  test('of a suspended member, and of a member who is in none of the required groups', async () => {
    const id = await plane.join('sam@example.com', 'member', ['others'])
    chat.members.set('U_SAM', person('sam@example.com'))
    const card = await plane.hold({ required_approver_groups: ['release-managers'] })
    const outside = await deliver(plane.url, await clickOn(card.id, 'approve', { user: 'U_SAM' }))
    expect(outside.body).toMatchObject({ ok: false, message: expect.stringContaining('release-managers') })
    await plane.db.query(
      "update users set status = 'suspended', groups = '{release-managers}' where id = $1",
      [id],
    )
    const suspended = await deliver(plane.url, await clickOn(card.id, 'approve', { user: 'U_SAM' }))
    expect(suspended.body).toMatchObject({ ok: false })
    expect(await plane.status(card.id)).toBe('pending')
  })

  test('of a user for whom the identity provider does not vouch any more', async () => {
    const id = await plane.join('ida@example.com', 'member', ['release-managers'])
    chat.members.set('U_IDA', person('ida@example.com'))
    await plane.db.query(
      "insert into user_identities (user_id, issuer, subject, tokens) values ($1, 'https://idp.example', $1, null)",
      [id],
    )
    const card = await plane.hold({ required_approver_groups: ['release-managers'] })
    const answer = await deliver(plane.url, await clickOn(card.id, 'approve', { user: 'U_IDA' }))
    expect(answer.body).toMatchObject({
      ok: false,
      message: expect.stringContaining('no longer confirms your account'),
    })
    await chatCall(chat, 'chat.postEphemeral', 'U_IDA')
    expect(await plane.status(card.id)).toBe('pending')
  })

  test('of a user of the identity provider, unless it states that the address is verified', async () => {
    const id = await plane.join('una@example.com', 'member', ['release-managers'])
    chat.members.set('U_UNA', person('una@example.com'))
    await plane.db.query(
      "insert into user_identities (user_id, issuer, subject, tokens) values ($1, 'https://idp.example', $1, '{}')",
      [id],
    )
    const card = await plane.hold({ required_approver_groups: ['release-managers'] })
    const answer = await deliver(plane.url, await clickOn(card.id, 'approve', { user: 'U_UNA' }))
    expect(answer.body).toMatchObject({ ok: false, message: expect.stringMatching(/does not state/) })
    expect(await plane.status(card.id)).toBe('pending')
    await plane.db.query('update user_identities set email_verified = true where user_id = $1', [id])
    const again = await deliver(plane.url, await clickOn(card.id, 'approve', { user: 'U_UNA' }))
    expect(again.body).toMatchObject({ ok: true, approval_status: 'approved' })
  })

  test('while the chat cannot say who clicked, and taken once it can', async () => {
    const card = await plane.hold()
    chat.override('users.info', { status: 500, body: {} })
    const answer = await deliver(plane.url, await clickOn(card.id, 'approve'))
    expect(answer.status).toBe(503)
    expect(await plane.status(card.id)).toBe('pending')
    chat.recover()
    expect((await deliver(plane.url, await clickOn(card.id, 'approve'))).body).toMatchObject({ ok: true })
  })

  test.each([
    ['the value of the button', { value: 'x\0' }],
    ['the name of whoever clicked', { user: 'U_ANN\0' }],
    ['the workspace', { team: 'T\ud800' }],
  ])(
    'that is signed but has a value other than a text in %s: 400, and no request is sent',
    async (_where, options) => {
      const card = await plane.hold()
      const asked = usersAsked()
      const answer = await deliver(plane.url, await clickOn(card.id, 'approve', options))
      expect(answer).toMatchObject({ status: 400, body: { error: 'malformed request' } })
      expect(usersAsked()).toBe(asked)
      expect(await plane.status(card.id)).toBe('pending')
    },
  )

  test('of a user whose address in the chat is invalid', async () => {
    chat.members.set('U_NUL', person('ann@example.com\0'))
    const card = await plane.hold()
    const answer = await deliver(plane.url, await clickOn(card.id, 'approve', { user: 'U_NUL' }))
    expect(answer).toMatchObject({
      status: 200,
      body: { ok: false, message: expect.stringMatching(/no verified/) },
    })
    expect(await plane.status(card.id)).toBe('pending')
  })

  test('when it is no form, and forms are read nowhere else', async () => {
    const json = await plane.owner('POST', '/api/integrations/chat', { payload: '{}' })
    expect(json.status).toBe(415)
    const form = await plane.owner('POST', '/api/dashboard/proxy-approvals', 'id=apr_1&approved=true', {
      'content-type': 'application/x-www-form-urlencoded',
    })
    expect(form.status).toBe(415)
  })
})
