import { createHmac, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type Logger, pino } from 'pino'
import { escaped } from '../../../controlplane/chat-markup.ts'
import { readConfig } from '../../../controlplane/config.ts'
import { createControlPlane } from '../../../controlplane/controlplane.ts'
import type { EmailOptions } from '../../../controlplane/features/notifications/channels/email.ts'
import type { PushOptions } from '../../../controlplane/features/notifications/push/sender.ts'
import type { HoldBody } from '../../../core/wire/gateway/hold.ts'
import type { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import { eventually } from '../../support/eventually.ts'
import { PASSWORD_COST } from '../../support/password-cost.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { type Recorder, type Seen, startRecorder } from '../../support/recorder.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { type Call, caller, PASSWORD, register } from '../routes/start.ts'
import { holdBody, send } from '../sync/harness.ts'

export const SECRETS = {
  chat_bot_token: 'xoxb-canary-bot-token',
  chat_signing_secret: 'canary-signing-secret',
}
export const CHANNEL = 'C0APPROVALS'
export const TEAM = 'T0HOME'
const GATEWAY_TOKEN = randomBytes(32).toString('base64url')

export type Member = Readonly<Record<string, unknown>>

/** A message as the provider stores it and sends it back in callbacks. */
export type StoredMessage = {
  readonly channel: string
  readonly ts: string
  readonly bot_id: string
  readonly team: string
  readonly text: string
  readonly blocks: readonly StoredBlock[]
}
export type StoredBlock = {
  readonly type: string
  readonly block_id: string
  readonly elements?: readonly Record<string, unknown>[]
}

/** A fake chat provider that stores messages, has members, and can be set to fail. */
export type FakeChat = AsyncDisposable & {
  readonly recorder: Recorder
  /** The newest message that shows the text. */
  messageWith(text: string): StoredMessage | undefined
  /** What anybody with the same app may do: write a message. */
  write(body: Record<string, unknown>): StoredMessage
  /** Method and body of each call, in order; forms as objects. */
  calls(method: string): readonly Record<string, unknown>[]
  readonly members: Map<string, Member>
  /** What `auth.test` says of a token. */
  readonly bots: Map<string, Readonly<Record<string, string>>>
  /** Answers the next calls of a method with this instead. */
  override(method: string, answer: { status: number; body: object; headers?: Record<string, string> }): void
  recover(): void
}

export async function startChat(): Promise<FakeChat> {
  const members = new Map<string, Member>()
  const bots = new Map<string, Readonly<Record<string, string>>>()
  const overrides = new Map<string, { status: number; body: object; headers?: Record<string, string> }>()
  const messages = new Map<string, StoredMessage>()
  let posted = 0
  const store = (body: Record<string, unknown>): StoredMessage => {
    const ts = String(body['ts'] ?? `1700000000.${String(++posted).padStart(6, '0')}`)
    const { text, blocks = [] } = body as unknown as Pick<StoredMessage, 'text' | 'blocks'>
    const channel = String(body['channel'])
    const message = { bot_id: 'B0APPROVALS', team: TEAM, channel, ts, text, blocks: blocks.map(normalised) }
    messages.delete(`${channel} ${ts}`)
    messages.set(`${channel} ${ts}`, message)
    return message
  }
  const reply = (method: string, body: Record<string, unknown>, token: string): object => {
    if (method === 'auth.test')
      return bots.has(token) ? { ok: true, ...bots.get(token) } : { ok: false, error: 'invalid_auth' }
    if (method === 'chat.postMessage' || method === 'chat.update') {
      const { channel, ts, ...message } = store(body)
      return { ok: true, channel, ts, message: { type: 'message', ts, ...message } }
    }
    if (method !== 'users.info') return { ok: true }
    const user = members.get(String(body['user']))
    return user === undefined ? { ok: false, error: 'user_not_found' } : { ok: true, user }
  }
  const answer = (request: IncomingMessage, response: ServerResponse, seen: Seen) => {
    request.on('end', () => {
      const method = seen.target.slice(1)
      const scripted = overrides.get(method) ?? {
        status: 200,
        body: reply(method, bodyOf(seen), tokenOf(seen)),
      }
      replyNow(response, scripted)
    })
    request.resume()
  }
  const recorder = await startRecorder({ answer })
  return {
    recorder,
    members,
    bots,
    messageWith: (text) => [...messages.values()].findLast((one) => JSON.stringify(one).includes(text)),
    write: store,
    calls: (method) => recorder.seen.filter((seen) => seen.target === `/${method}`).map(bodyOf),
    override: (method, scripted) => overrides.set(method, scripted),
    recover: () => overrides.clear(),
    [Symbol.asyncDispose]: () => recorder.close(),
  }
}

/** A block as the provider gives it back: with an id, its defaults, and escaped plain text. */
function normalised(block: object, index: number): StoredBlock {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([key, inner]) => [key, walk(inner)])
    const copy = Object.fromEntries(entries) as Record<string, unknown>
    if (copy['type'] === 'plain_text') {
      return { ...copy, text: escaped(String(copy['text'])), emoji: true }
    }
    const hasBorder = copy['type'] === 'rich_text_preformatted' || copy['type'] === 'rich_text_quote'
    return hasBorder ? { ...copy, border: 0 } : copy
  }
  return { block_id: `b${index}Q`, ...(walk(block) as { type: string }) }
}

export function person(email: string, extra: Member = {}): Member {
  return { team_id: TEAM, is_email_confirmed: true, profile: { email }, ...extra }
}

export type ChatPlane = AsyncDisposable & {
  readonly url: string
  readonly owner: Call
  readonly db: pg.Client
  log(): string
  /** Opens a hold as a gateway would. */
  hold(changes?: Partial<HoldBody>): Promise<ApprovalCard>
  status(id: string): Promise<string>
  /** Registers and gives a role and groups. */
  join(email: string, role: string, groups?: readonly string[]): Promise<string>
}

export async function startChatPlane(
  database: TestDatabase,
  chat: FakeChat,
  given: {
    readonly env?: Readonly<Record<string, string>>
    readonly smtp?: EmailOptions
    readonly push?: PushOptions
  } = {},
): Promise<ChatPlane> {
  const folder = await mkdtemp(join(tmpdir(), 'chaperone-chat-'))
  const tokenFile = join(folder, 'gateway.token')
  await writeFile(tokenFile, GATEWAY_TOKEN, { mode: 0o600 })
  const lines: string[] = []
  const log: Logger = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) })
  const config = readConfig({
    DATABASE_URL: database.url,
    MASTER_KEY: 'cd'.repeat(32),
    PORT: '0',
    LOCAL_GATEWAY_TOKEN_FILE: tokenFile,
    NOTIFY_ALLOW_CIDRS: '127.0.0.0/8',
    // Never asked: a confirmation counts for five minutes.
    ...{ OIDC_ISSUER: 'https://idp.example', OIDC_CLIENT_ID: 'chat', OIDC_GROUPS: '{"*":{"role":"member"}}' },
    ...given.env,
  })
  const plane = await createControlPlane(config, log, {
    chatApiUrl: chat.recorder.url,
    passwordCost: PASSWORD_COST,
    ...(given.smtp === undefined ? {} : { smtp: given.smtp }),
    ...(given.push === undefined ? {} : { push: given.push }),
  })
  const db = new pg.Client({ connectionString: database.adminUrl })
  await db.connect()
  const anybody = caller(plane.url, {})
  await register(anybody, 'owner@example.com')
  const signIn = await anybody('POST', '/api/auth/login', { email: 'owner@example.com', password: PASSWORD })
  const owner = caller(plane.url, { cookie: signIn.headers.get('set-cookie')?.split(';')[0] ?? '' })
  return {
    ...{ url: plane.url, owner, db },
    log: () => lines.join(''),
    async hold(changes = {}) {
      const headers = { authorization: `Bearer ${GATEWAY_TOKEN}`, 'x-process-id': 'proc_test' }
      // Each of an agent of its own: one agent may have twenty waiting.
      const fresh = {
        binding: randomBytes(32).toString('hex'),
        agent: `builder-${randomBytes(4).toString('hex')}`,
      }
      const body = holdBody({ ...fresh, ...changes })
      const answer = await send(`${plane.url}/api/gateway/holds`, 'POST', headers, body)
      if (answer.status !== 200) throw new Error(JSON.stringify(answer))
      return answer.body['approval'] as ApprovalCard
    },
    async status(id) {
      const { rows } = await db.query('select status from approvals where id = $1', [id])
      return rows[0]?.status
    },
    async join(email, role, groups = []) {
      const answer = await register(anybody, email)
      const userId = (answer.body['user'] as { id: string }).id
      await db.query('update users set role = $2, groups = $3 where id = $1', [userId, role, groups])
      return userId
    },
    async [Symbol.asyncDispose]() {
      await plane.close()
      await db.end()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** A control plane whose chat is set up, with the member ann, a release manager, and the viewer vic. */
export type ChatInstallation = AsyncDisposable & {
  readonly chat: FakeChat
  readonly plane: ChatPlane
  /** For a further replica. */
  readonly database: TestDatabase
  /** A click on the card of an approval, once it is posted. */
  clickOn(id: string, action: 'approve' | 'deny', options?: ClickOptions): Promise<ReturnType<typeof clickOf>>
}

export async function startChatInstallation(): Promise<ChatInstallation> {
  await using started = new AsyncDisposableStack()
  const postgres = started.adopt(await workerPostgres(), (server) => server.stop())
  const chat = started.use(await startChat())
  const database = await postgres.createMigratedDatabase()
  const plane = started.use(await startChatPlane(database, chat))
  const settings = { ...SECRETS, chat_channel_id: CHANNEL }
  const { status, text } = await plane.owner('PUT', '/api/dashboard/settings', { settings })
  if (status !== 200) throw new Error(`the chat was not set up: ${text}`)
  await plane.join('ann@example.com', 'member', ['release-managers'])
  await plane.join('vic@example.com', 'viewer')
  chat.members.set('U_ANN', person('Ann@example.com'))
  chat.members.set('U_VIC', person('vic@example.com'))
  const all = started.move()
  return {
    ...{ chat, plane, database },
    clickOn: async (id, action, options) => clickOf(await postedCard(plane, chat, id), action, options),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

export type ClickOptions = {
  /** What the button bears; by default what it bears on the message. */
  readonly value?: string
  /** Changes the payload before it is signed. */
  readonly change?: (payload: Payload) => void
  readonly user?: string
  readonly secret?: string
  /** Seconds from now. */
  readonly at?: number
  readonly team?: string
}

/** A click as the provider describes it (block_actions, container message). */
export type Payload = {
  type: string
  user: Record<string, unknown>
  api_app_id: string
  token: string
  container: Record<string, unknown> | undefined
  trigger_id: string
  team: Record<string, unknown> | null
  enterprise: null
  is_enterprise_install: boolean
  channel: Record<string, unknown> | undefined
  message: Record<string, unknown> | undefined
  state: { values: object }
  response_url: string
  actions: Record<string, unknown>[]
}

/** A click on a button of a message as the provider sends it: a signed form. */
export function clickOf(message: StoredMessage, action: 'approve' | 'deny', options: ClickOptions = {}) {
  const { channel, ts, ...rest } = message
  const block = message.blocks.find(({ type }) => type === 'actions')
  const shown = block?.elements?.find((button) => button['action_id'] === action)
  const value = options.value ?? shown?.['value']
  const payload: Payload = {
    type: 'block_actions',
    user: { id: options.user ?? 'U_ANN', username: 'ann', name: 'ann', team_id: TEAM },
    api_app_id: 'A0APPROVALS',
    token: 'verification-token',
    container: { type: 'message', message_ts: ts, channel_id: channel, is_ephemeral: false },
    trigger_id: randomBytes(8).toString('hex'),
    team: { id: options.team ?? TEAM, domain: 'home' },
    enterprise: null,
    is_enterprise_install: false,
    channel: { id: channel, name: 'approvals' },
    message: { type: 'message', user: 'U0BOT', ts, ...rest },
    state: { values: {} },
    response_url: 'https://hooks.slack.com/actions/T0HOME/1/x',
    actions: [
      {
        ...{ type: 'button', ...shown, action_id: action, block_id: block?.block_id, value },
        action_ts: `${Date.now() / 1_000}`,
      },
    ],
  }
  options.change?.(payload)
  const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
  const timestamp = String(Math.floor(Date.now() / 1_000) + (options.at ?? 0))
  const key = options.secret ?? SECRETS.chat_signing_secret
  const signature = `v0=${createHmac('sha256', key).update(`v0:${timestamp}:${body}`).digest('hex')}`
  return { body, timestamp, signature }
}

/** The card of an approval in the chat, once it is posted and recorded. */
export function postedCard(plane: Pick<ChatPlane, 'db'>, chat: FakeChat, id: string): Promise<StoredMessage> {
  return eventually(`the card of ${id}`, async () => {
    const { rows } = await plane.db.query('select ts from chat_messages where approval_id = $1', [id])
    return rows[0] === undefined ? null : (chat.messageWith(id) ?? null)
  })
}

export async function deliver(url: string, click: ReturnType<typeof clickOf>) {
  const answer = await fetch(`${url}/api/integrations/chat`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': click.timestamp,
      'x-slack-signature': click.signature,
    },
    body: click.body,
  })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

/** The call of `method` that mentions `text`, once it has come. */
export function chatCall(chat: FakeChat, method: string, text: string): Promise<Record<string, unknown>> {
  return eventually(`${method} with ${text}`, () => {
    const found = chat.calls(method).find((call) => JSON.stringify(call).includes(text))
    return found ?? null
  })
}

function tokenOf(seen: Seen): string {
  return seen.header('authorization')?.slice('Bearer '.length) ?? ''
}

function bodyOf(seen: Seen): Record<string, unknown> {
  const text = seen.body.toString()
  if (seen.header('content-type')?.startsWith('application/json')) return JSON.parse(text)
  return Object.fromEntries(new URLSearchParams(text))
}

function replyNow(
  response: ServerResponse,
  { status, body, headers = {} }: { status: number; body: object; headers?: Record<string, string> },
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
