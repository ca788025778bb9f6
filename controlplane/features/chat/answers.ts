import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { unstorableIn } from '../../../core/storable.ts'
import type { ChatReply } from '../../../core/wire/notifications/notifications.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import { escaped } from '../../chat-markup.ts'
import type { Db, Query } from '../../db/query.ts'
import { namespacesOf, roleWithin } from '../../http/auth/rights.ts'
import { withinMsOrNull } from '../../urgent.ts'
import type { Approvals } from '../approvals/service.ts'
import { systemActor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { userPrincipal } from '../authentication/service.ts'
import { queueMessage } from '../notifications/service.ts'
import type { ConfirmAccess } from '../oidc/confirmation.ts'
import { findIdentityOf, identityState } from '../oidc/rows.ts'
import type { Settings } from '../settings/service.ts'
import { findUserByEmail, getUser, type UserRow } from '../users/rows.ts'
import type { ChatApi } from './api.ts'
import { type Click, isSigned, type RawCallback, readClick } from './callback.ts'
import { type CheckedCard, checkCard } from './card/check.ts'
import { spendNonce } from './card/nonce.ts'
import { admitCallback, type CardRow, CHAT_RECEIVER, findCard } from './message-store.ts'

export type ChatAnswersDeps = {
  readonly db: Db
  readonly orgId: string
  readonly settings: Pick<Settings, 'read'>
  readonly approvals: Pick<Approvals, 'respond'>
  readonly api: ChatApi
  readonly confirmAccess: ConfirmAccess
}

export type ChatAnswers = {
  /**
   * Answers an approval for the user who clicked a button of its card. Throws `unauthorized` for a callback that is
   * unsigned, outside the time window or replayed. Throws `not_ready` when the chat provider cannot identify the user,
   * or when the identity provider does not respond; the approval is then not answered.
   */
  answer(callback: RawCallback): Promise<ChatReply>
}

const WINDOW_S = 300
/**
 * Time limit for identifying the user, in milliseconds. The chat provider expects the response to a click within three
 * seconds.
 */
const IDENTIFY_MS = 2_000
/**
 * Time limit for the confirmation of the user by the identity provider, in milliseconds. A confirmation that takes
 * longer continues in the background, and the next click uses its result.
 */
const CONFIRM_MS = 900

export function createChatAnswers(deps: ChatAnswersDeps): ChatAnswers {
  return {
    async answer(callback) {
      await verify(deps, callback)
      const click = readClick(callback.body)
      return click === null ? { ok: true } : answerClick(deps, click)
    },
  }
}

async function answerClick(deps: ChatAnswersDeps, click: Click): Promise<ChatReply> {
  const card = click.place === null ? undefined : await findCard(deps.db, deps.orgId, click.place)
  try {
    return await respond(deps, click, checkCard(click, card))
  } catch (error) {
    if (!(error instanceof ChaperoneError) || error.status >= 500) throw error
    await noteRefused(deps, { click, card, error })
    return { ok: false, error: error.options.error ?? error.code, message: error.message }
  }
}

async function verify({ db, settings }: ChatAnswersDeps, callback: RawCallback): Promise<void> {
  const { timestamp, signature } = callback
  if (!/^\d{1,12}$/.test(timestamp) || !/^v0=[0-9a-f]{64}$/.test(signature)) throw refused('is not signed')
  const secret = await settings.read('chat_signing_secret')
  if (secret === null || !isSigned(callback, secret)) {
    throw refused('is not signed with the secret in the setting chat_signing_secret')
  }
  const digest = sha256(signature)
  const admitted = await admitCallback(db, { digest, timestamp: Number(timestamp), windowS: WINDOW_S })
  if (admitted === 'late') throw refused('was signed more than five minutes ago, or in the future')
  if (admitted === 'replayed') throw refused('was received before')
}

async function respond(
  deps: ChatAnswersDeps,
  click: Click,
  { approvalId, nonceSha256 }: CheckedCard,
): Promise<ChatReply> {
  const user = userPrincipal(await userOf(deps, click), 'session')
  const { userId, email, groups } = user
  const namespaces = await namespacesOf(user, 'approvals/answer', 'namespaces')
  const role = roleWithin(user, namespaces)
  const { id, status } = await deps.approvals.respond({
    id: approvalId,
    kinds: ['action', 'hold'],
    approved: click.approved,
    note: null,
    by: { kind: 'user', userId, email, role, groups, namespaces },
    via: 'chat',
    within: async (q) => {
      if (nonceSha256 !== null && (await spendNonce(q, approvalId, nonceSha256))) return
      throw new ChaperoneError('conflict', {
        detail: 'Another click on this card was processed first. Read the card again.',
      })
    },
  })
  return { ok: true, id, approval_status: status }
}

const Who = z.object({
  team_id: z.string().optional(),
  deleted: z.boolean().optional(),
  is_bot: z.boolean().optional(),
  is_stranger: z.boolean().optional(),
  is_email_confirmed: z.boolean().optional(),
  enterprise_user: z.object({ teams: z.array(z.string()).optional() }).optional(),
  profile: z.object({ email: z.string().optional() }),
})

/**
 * Resolves the user whose e-mail address is the verified address of the chat account. Throws `forbidden` when no active
 * user has this address.
 */
async function userOf(deps: ChatAnswersDeps, click: Click): Promise<UserRow> {
  const email = await emailOf(deps, click)
  const user = email === null ? undefined : await findUserByEmail(deps.db, email)
  if (user?.status !== 'active') {
    throw new ChaperoneError('forbidden', {
      detail:
        'Your chat account has no verified e-mail address of an active Chaperone user. Ask an admin for an invitation to that address.',
    })
  }
  const now = await confirmedUser(deps, user)
  await refuseUnverified(deps, now)
  if (now.role !== 'viewer') return now
  throw new ChaperoneError('forbidden', {
    detail: 'Answering requires the role member; your role is viewer. Ask an owner or admin to change it.',
  })
}

/**
 * Resolves the current row of the user. The identity provider must have confirmed the user within the last five
 * minutes, as for a session.
 */
async function confirmedUser({ db, confirmAccess }: ChatAnswersDeps, user: UserRow): Promise<UserRow> {
  const asked = confirmAccess({ id: user.id, identity: await identityState(db, user.id) })
  const vouched = await withinMsOrNull(asked, CONFIRM_MS)
  if (vouched === null) {
    const detail =
      'The identity provider does not answer, so your answer was not stored. Click again in a moment.'
    throw new ChaperoneError('not_ready', { detail, retryAfterS: 2 })
  }
  const now = vouched === 'changed' ? await getUser(db, user.id) : user
  if (vouched !== 'ended' && now?.status === 'active') return now
  throw new ChaperoneError('forbidden', {
    detail:
      'The identity provider no longer confirms your account. Sign in to the dashboard, then click again.',
  })
}

/**
 * Throws `forbidden` when the identity provider has not verified the user's e-mail address. The address identifies the
 * user, and some providers let users choose any address.
 */
async function refuseUnverified({ db }: ChatAnswersDeps, { id, email }: UserRow): Promise<void> {
  if ((await findIdentityOf(db, id))?.isEmailVerified !== false) return
  throw new ChaperoneError('forbidden', {
    detail: `The identity provider does not state that ${email} is verified (email_verified). Answer in the dashboard.`,
  })
}

async function emailOf({ settings, api }: ChatAnswersDeps, click: Click): Promise<string | null> {
  const token = await settings.read('chat_bot_token')
  if (token === null) throw unknownClicker('the setting chat_bot_token is empty')
  const call = { token, signal: AbortSignal.timeout(IDENTIFY_MS) }
  const reply = await api('users.info', { user: click.chatUser }, call).catch((cause: unknown) => {
    throw unknownClicker('the provider could not be reached', cause)
  })
  if (!reply.ok && reply.error === 'user_not_found') return null
  if (!reply.ok) throw unknownClicker(`the provider answered ${reply.error}`)
  const who = Who.safeParse(reply.body['user'])
  if (unstorableIn(who.data) !== null) return null
  return who.success && isTrusted(who.data, click.team) ? (who.data.profile.email ?? null) : null
}

/**
 * Reports whether the profile of the chat user is trusted. Profiles of other workspaces are not trusted, because those
 * workspaces control their content.
 */
function isTrusted(who: z.infer<typeof Who>, team: string | null): boolean {
  if (who.deleted || who.is_bot || who.is_stranger || who.is_email_confirmed === false) return false
  if (team === null || who.team_id === undefined) return true
  return who.team_id === team || who.enterprise_user?.teams?.includes(team) === true
}

type Refused = {
  readonly click: Click
  readonly card: CardRow | undefined
  readonly error: ChaperoneError
}

/**
 * Sends the reason for the refusal to the user who clicked, in a message that only this user sees. Records an audit
 * event when the user lacks permission.
 */
async function noteRefused({ db, orgId }: ChatAnswersDeps, { click, card, error }: Refused): Promise<void> {
  const { channel, chatUser, team, place } = click
  const approvalId = card?.approvalId ?? null
  await db.tx(async (q) => {
    if (channel !== null) await tell(q, { orgId, channel, chatUser, approvalId, text: error.message })
    if (error.code !== 'forbidden') return
    await recordEvent(q, {
      orgId,
      actor: systemActor('chat'),
      type: 'approval.refused',
      agentId: card?.agentId ?? null,
      actionRequestId: card?.actId ?? null,
      details: {
        via: 'chat',
        why: error.message,
        approval_id: approvalId,
        chat_user: chatUser,
        team,
        channel,
        message_ts: place?.ts ?? null,
        approved: click.approved,
      },
    })
  })
}

type Telling = {
  readonly orgId: string
  readonly channel: string
  readonly chatUser: string
  readonly approvalId: string | null
  readonly text: string
}

function tell(q: Query, { orgId, channel, chatUser, approvalId, text }: Telling): Promise<void> {
  return queueMessage(q, {
    orgId,
    kind: 'chat_tell',
    receiver: CHAT_RECEIVER,
    url: null,
    event: 'approval.refused',
    subjectId: approvalId ?? 'none',
    payload: { channel, user: chatUser, text: escaped(text), parse: 'none' },
  })
}

function refused(why: string): ChaperoneError {
  return new ChaperoneError('unauthorized', { detail: `This callback ${why}.` })
}

function unknownClicker(why: string, cause?: unknown): ChaperoneError {
  const detail = `The chat provider did not identify the user who clicked (${why}), so the answer was not stored. Click again.`
  return new ChaperoneError('not_ready', { detail, retryAfterS: 2, cause })
}
