import { SMTPServer } from 'smtp-server'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { type Recorder, startRecorder } from '../../support/recorder.ts'
import { createTestCa } from '../../support/test-ca.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { CHANNEL, type ChatPlane, type FakeChat, SECRETS, startChat, startChatPlane } from './chat-world.ts'

const DASHBOARD = 'http://127.0.0.1:9000'
const PASSWORD = 'canary-smtp-password'
const PARAMETER = 'canary-parameter'

type Mail = {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
  readonly isTls: boolean
}

/** SMTP server with STARTTLS and one account. `refusal` answers RCPT of the next mails. */
async function startSmtp(tls: { readonly key: string; readonly cert: string }) {
  const mails: Mail[] = []
  const state: { refusal: string | null } = { refusal: null }
  const server = new SMTPServer({
    ...tls,
    onAuth: ({ username, password }, _session, done) =>
      username === 'chaperone' && password === PASSWORD
        ? done(null, { user: username })
        : done(new Error('Invalid username or password')),
    onRcptTo: (_address, _session, done) => done(state.refusal === null ? null : new Error(state.refusal)),
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString('utf8'),
          isTls: session.secure,
        })
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const port = (server.server.address() as { port: number }).port
  return { mails, state, port, close: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}

let postgres: TestPostgres
let chat: FakeChat
let plane: ChatPlane
let smtp: Awaited<ReturnType<typeof startSmtp>>
let receiver: Recorder

beforeAll(async () => {
  const ca = createTestCa()
  postgres = await workerPostgres()
  chat = await startChat()
  smtp = await startSmtp(ca.issue('mail.example'))
  receiver = await startRecorder()
  plane = await startChatPlane(await postgres.createMigratedDatabase(), chat, {
    env: { PUBLIC_URL: DASHBOARD },
    smtp: { ca: [ca.cert], resolve: async () => [{ address: '127.0.0.1', family: 4 }] },
  })
  await plane.join('ann@example.com', 'member', ['release'])
  await plane.join('vera@example.com', 'viewer')
})
afterAll(async () => {
  await plane?.[Symbol.asyncDispose]()
  await Promise.all([chat?.[Symbol.asyncDispose](), smtp?.close(), receiver?.close()])
  await postgres?.stop()
})

const PATH = '/api/dashboard/notification-channels'
const email = (changes: object = {}) => ({
  ...{ host: 'mail.example', port: smtp.port, tls: 'starttls', username: 'chaperone', password: PASSWORD },
  ...{ from: 'chaperone@example.com', to: [], ...changes },
})
const put = async (name: string, settings: object | null) => plane.owner('PUT', PATH, { name, settings })
const testOf = async (name: string) => (await plane.owner('POST', `${PATH}/test`, { name })).body
const channel = async (name: string) => {
  const { body } = await plane.owner('GET', PATH)
  return (body['channels'] as { name: string; state: string; last_error: string | null }[]).find(
    (one) => one.name === name,
  )
}
const warnings = async () =>
  ((await plane.owner('GET', '/api/dashboard/overview')).body['warnings'] as string[]).filter((text) =>
    text.startsWith('Notifications'),
  )
const mailAbout = (text: string) =>
  eventually(`an e-mail about ${text}`, () => smtp.mails.find((mail) => mail.text.includes(text)) ?? null)
/** Quoted-printable text as the reader sees it. */
const decoded = (text: string) => text.replace(/=\r\n/g, '').replace(/=3D/g, '=')

describe('e-mail', () => {
  test('is off until it is configured, and a test of it is refused with a reason', async () => {
    expect(await channel('email')).toMatchObject({ state: 'off', settings: null })
    expect((await plane.owner('POST', `${PATH}/test`, { name: 'email' })).status).toBe(409)
  })

  test('never sends a password without TLS', async () => {
    const refused = await put('email', email({ tls: 'none' }))
    expect(refused.status).toBe(400)
    expect(JSON.stringify(refused.body)).toContain('without TLS')
  })

  test('is tested, and its password is masked and kept when the mask is sent back', async () => {
    expect((await put('email', email())).status).toBe(200)
    expect(await channel('email')).toMatchObject({ state: 'unproven', settings: { password: '********' } })
    expect((await put('email', email({ password: '********' }))).status).toBe(200)
    expect(await testOf('email')).toEqual({ ok: true, error: null })
    expect(smtp.mails.at(-1)).toMatchObject({ from: 'chaperone@example.com', isTls: true })
    expect(await channel('email')).toMatchObject({ state: 'ok', last_error: null })
    expect(plane.log()).not.toContain(PASSWORD)
    const { body } = await plane.owner('GET', '/api/dashboard/audit?event_type=settings.updated&limit=1')
    expect(body['events']).toMatchObject([
      { details: { change: 'channel.tested', channel: 'email', ok: true } },
    ])
  })

  test.each([{ host: 'attacker.example' }, { port: 2525 }])(
    'does not send its stored password to another server: %j',
    async (other) => {
      const refused = await put('email', email({ password: '********', ...other }))
      expect(refused.status).toBe(400)
      expect(JSON.stringify(refused.body)).toContain('was entered for mail.example')
      expect(await channel('email')).toMatchObject({ settings: { host: 'mail.example', port: smtp.port } })
    },
  )

  test('reaches the users who may answer, with a link to the card and without parameters', async () => {
    const card = await plane.hold({ parameters: { note: PARAMETER } } as never)
    const mail = await mailAbout(card.id)
    expect([...mail.to].sort()).toEqual(['ann@example.com', 'owner@example.com'])
    expect(decoded(mail.text)).toContain(`${DASHBOARD}/#/approvals?id=${card.id}`)
    expect(mail.text).toContain(card.action_type)
    expect(mail.text).not.toContain(PARAMETER)
    expect(await plane.status(card.id)).toBe('pending')
    expect(smtp.mails.filter((one) => one.text.includes(card.id))).toHaveLength(1)
  })

  test('states that no request waits for an access request', async () => {
    const card = await plane.hold({ access_request: true })
    expect(decoded((await mailAbout(card.id)).text)).toContain(
      'The agent asks for access; no request is held.',
    )
  })

  test('that fails is a warning on Overview without the text of the server, until a message is delivered', async () => {
    smtp.state.refusal = 'canary: mailbox full'
    const card = await plane.hold()
    await eventually('the channel fails', async () =>
      (await channel('email'))?.state === 'failing' ? true : null,
    )
    expect((await channel('email'))?.last_error).toContain('canary: mailbox full')
    expect((await warnings()).join()).toContain('Notifications by e-mail fail')
    expect((await warnings()).join()).not.toContain('mailbox full')
    expect(await testOf('email')).toMatchObject({ ok: false, error: expect.stringContaining('mailbox full') })
    smtp.state.refusal = null
    expect(await testOf('email')).toEqual({ ok: true, error: null })
    expect(await warnings()).toEqual([])
    await mailAbout(card.id)
  })

  test('does not send to a server with a certificate for another host', async () => {
    await put('email', email({ host: 'other.example' }))
    expect(await testOf('email')).toMatchObject({ ok: false })
    expect((await channel('email'))?.state).toBe('failing')
    await put('email', null)
    expect(await warnings()).toEqual([])
  })
})

describe('a webhook for holds', () => {
  test('is signed, names the approval and later its end, and contains no parameters', async () => {
    await put('webhook', { url: `${receiver.url}/holds?key=canary-in-the-query` })
    expect(JSON.stringify(await channel('webhook'))).not.toContain('canary-in-the-query')
    const card = await plane.hold({ parameters: { note: PARAMETER } } as never)
    const find = (event: string) =>
      eventually(event, () => {
        const found = receiver.seen.find(
          (seen) => seen.body.includes(card.id) && seen.body.includes(`"event":"${event}"`),
        )
        return found ?? null
      })
    const opened = await find('approval.opened')
    const { body } = await plane.owner('GET', '/api/dashboard/settings/webhook-secret')
    const headers = Object.fromEntries(
      ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [
        name,
        opened.header(name) ?? '',
      ]),
    )
    expect(new Webhook(String(body['webhook_secret'])).verify(opened.body, headers)).toMatchObject({
      event: 'approval.opened',
      link: `${DASHBOARD}/#/approvals?id=${card.id}`,
      approval: { id: card.id, status: 'pending', agent: card.agent },
    })
    expect(opened.body.toString()).not.toContain(PARAMETER)
    await plane.owner('POST', '/api/dashboard/proxy-approvals', { id: card.id, approved: false })
    const ended = JSON.parse((await find('approval.ended')).body.toString())
    expect(ended.approval).toMatchObject({ status: 'denied', responded_by: 'owner@example.com' })
    await put('webhook', null)
  })
})

describe('a chat webhook', () => {
  test('posts an Adaptive Card without Markdown to Microsoft Teams', async () => {
    await put('chat_webhook', { url: `${receiver.url}/teams`, format: 'teams' })
    const card = await plane.hold({ agent: 'x **bold** [click]' } as never)
    const seen = await eventually(
      'the card',
      () => receiver.seen.find((one) => one.target === '/teams') ?? null,
    )
    const [attachment] = JSON.parse(seen.body.toString()).attachments
    expect(attachment.contentType).toBe('application/vnd.microsoft.card.adaptive')
    const types = attachment.content.body.map(({ type }: { type: string }) => type)
    expect(new Set(types)).toEqual(new Set(['RichTextBlock']))
    expect(attachment.content.actions[0].url).toBe(`${DASHBOARD}/#/approvals?id=${card.id}`)
  })

  test('fills the strings of a template, so that no value changes its structure', async () => {
    const template = '{"content": "{{title}} {{link}}", "nested": [{"quiet": true}]}'
    expect((await put('chat_webhook', { url: '********', format: 'template', template })).status).toBe(200)
    await put('chat_webhook', { url: `${receiver.url}/generic`, format: 'template', template })
    const agent = 'quote " and \\ of an agent'
    const card = await plane.hold({ agent } as never)
    const seen = await eventually(
      'the message',
      () => receiver.seen.find((one) => one.target === '/generic' && one.body.includes(card.id)) ?? null,
    )
    const body = JSON.parse(seen.body.toString())
    expect(Object.keys(body)).toEqual(['content', 'nested'])
    expect(body.content).toContain(agent)
  })

  test('fills a template without mentions, masked links and formatting of an agent', async () => {
    const template = '{"text": "{{title}}\\n{{text}}\\n{{link}}"}'
    await put('chat_webhook', { url: `${receiver.url}/literal`, format: 'template', template })
    const target = '<!channel> @here [ok](http://a.example) `x` *b* _i_ ~s~ a_b'
    const card = await plane.hold({ target } as never)
    const seen = await eventually(
      'the message',
      () => receiver.seen.find((one) => one.target === '/literal' && one.body.includes(card.id)) ?? null,
    )
    const { text } = JSON.parse(seen.body.toString())
    expect(text).toContain('&lt;!channel&gt; ＠here ［ok］(http://a.example) ｀x｀ ＊b＊ ＿i＿ ～s～ a_b')
    expect(text).not.toMatch(/[@[\]`*~|<>]/)
    expect(text).toContain(`\n${DASHBOARD}/#/approvals?id=${card.id}`)
  })

  test('refuses a template that is not JSON', async () => {
    const refused = await put('chat_webhook', { url: `${receiver.url}/x`, format: 'template', template: '{' })
    expect(refused).toMatchObject({ status: 400 })
    await put('chat_webhook', null)
  })
})

describe('Slack', () => {
  test('is one of the channels: tested, and failing when the provider refuses', async () => {
    expect((await channel('slack'))?.state).toBe('off')
    await plane.owner('PUT', '/api/dashboard/settings', {
      settings: { ...SECRETS, chat_channel_id: CHANNEL },
    })
    expect(await testOf('slack')).toEqual({ ok: true, error: null })
    expect(JSON.stringify(chat.calls('chat.postMessage'))).toContain('Chaperone test message')
    chat.override('chat.postMessage', { status: 200, body: { ok: false, error: 'channel_not_found' } })
    await plane.hold()
    await eventually('the warning', async () =>
      (await warnings()).join().includes('Notifications by Slack fail') ? true : null,
    )
    expect((await channel('slack'))?.last_error).toContain('channel_not_found')
    chat.recover()
    expect(await testOf('slack')).toEqual({ ok: true, error: null })
    expect(await warnings()).toEqual([])
  })
})
