import { ChaperoneError } from '../../../../core/errors.ts'
import type { TestChannelReply } from '../../../../core/wire/notifications/notification-channels.ts'
import type {
  PushSubscriptionBody,
  PushSubscriptionList,
  PushSubscriptionView,
} from '../../../../core/wire/notifications/push-subscriptions.ts'
import { LIMITS } from '../../../../core/wire/schema/limits.ts'
import { sha256Hex } from '../../../../runtime/sha256.ts'
import { newId } from '../../../crypto/ids.ts'
import type { Keyring } from '../../../crypto/keyring.ts'
import { sealedPlace } from '../../../crypto/sealed-places.ts'
import type { Db } from '../../../db/query.ts'
import { validationError } from '../../../http/input.ts'
import type { Approvals } from '../../approvals/service.ts'
import { type Actor, systemActor } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/events.ts'
import { getUser, listUsers } from '../../users/rows.ts'
import { approversOf } from '../channels/approvers.ts'
import type { Channel } from '../channels/channel.ts'
import type { Deliver, Delivery } from '../delivery.ts'
import { asFailed, errorOf } from '../delivery-error.ts'
import { arePushKeys } from './encryption.ts'
import type { PushMessage, PushSender, PushTarget } from './sender.ts'
import {
  deleteSubscription,
  getSubscription,
  hasSubscriptions,
  listSubscriptions,
  putSubscription,
  recordPush,
  type SubscriptionRow,
} from './store.ts'

/** The user of a subscription. `userId`: id of the account. */
export type PushUser = { readonly userId: string; readonly actor: Actor }

export type PushSubscriptions = {
  list(user: PushUser): Promise<PushSubscriptionList>
  /**
   * Stores the subscription of a browser and returns its id. Throws `validation` for invalid input, and `conflict`
   * when the user has too many subscriptions.
   */
  add(user: PushUser, body: PushSubscriptionBody): Promise<string>
  /** Removes a subscription. `remove` and `test` throw `not_found` for a subscription of another user. */
  remove(user: PushUser, id: string): Promise<void>
  /** Sends a test message to one browser. The reply contains the error of the push service; null after a delivery. */
  test(user: PushUser, id: string): Promise<TestChannelReply>
  /** Reports whether any browser has a subscription. */
  isUsed(): Promise<boolean>
  /**
   * Delivers one queued message. The message contains the number of approvals that the user of the browser may answer
   * now.
   */
  readonly deliver: Deliver
  /** Channel that sends a test message to every browser. */
  readonly channel: Channel<object>
}

export type PushDeps = {
  readonly db: Db
  readonly orgId: string
  readonly keyring: Keyring
  readonly sender: PushSender
  readonly approvals: Pick<Approvals, 'list'>
}

const MAX_SUBSCRIPTIONS = 20
const LINK = '/#/approvals'
const TEST: PushMessage = { count: null, link: LINK }
/** Time limit of a test message in milliseconds. */
const TEST_MS = 15_000

export function createPushSubscriptions(deps: PushDeps): PushSubscriptions {
  const { db, orgId, sender } = deps
  return {
    async list({ userId }) {
      const rows = await listSubscriptions(db, orgId, userId)
      return { public_key: sender.publicKey, subscriptions: rows.map(viewOf) }
    },
    add: (user, body) => add(deps, user, body),
    remove: (user, id) =>
      db.tx(async (q) => {
        const row = ownOf(user, id, await getSubscription(q, id))
        await deleteSubscription(q, id)
        const details = { subscription_id: id, host: row.host }
        await recordEvent(q, { orgId, actor: user.actor, type: 'push_subscription.deleted', details })
      }),
    async test(user, id) {
      const row = ownOf(user, id, await getSubscription(db, id))
      const delivery = await push(deps, row, TEST, AbortSignal.timeout(TEST_MS))
      const ok = delivery.outcome === 'delivered'
      const details = { change: 'channel.tested', channel: 'web_push', ok }
      await recordEvent(db, { orgId, actor: user.actor, type: 'settings.updated', details })
      return { ok, error: errorOf(delivery) }
    },
    isUsed: () => hasSubscriptions(db, orgId),
    async deliver(message, signal) {
      const row = await getSubscription(db, String(message.payload['subscription_id'] ?? ''))
      if (row === undefined)
        return { outcome: 'obsolete', why: 'the browser has no subscription any more, so nothing was sent' }
      const count = await countFor(deps, row.userId)
      if (count === 0) return { outcome: 'obsolete', why: 'no approval waits for this user' }
      return push(deps, row, { count, link: LINK }, signal)
    },
    channel: { send: (_settings, _notice, signal) => testAll(deps, signal) },
  }
}

async function add(
  { db, orgId, keyring, sender }: PushDeps,
  { userId, actor }: PushUser,
  { endpoint, keys }: PushSubscriptionBody,
): Promise<string> {
  if (!sender.isEndpoint(endpoint))
    throw validationError([
      'endpoint: is not an address of a push service of Google, Mozilla, Microsoft or Apple; messages are sent only to these services',
    ])
  const bytes = { p256dh: Buffer.from(keys.p256dh, 'base64url'), auth: Buffer.from(keys.auth, 'base64url') }
  if (!arePushKeys(bytes))
    throw validationError([
      'keys: are not the keys of a push subscription; send those that the browser returns with its subscription',
    ])
  const id = newId('subscription')
  const target: PushTarget = { endpoint, ...keys }
  const host = new URL(endpoint).host
  await db.tx(async (q) => {
    if ((await getUser(q, userId)) === undefined)
      throw new ChaperoneError('forbidden', {
        detail: 'Web Push needs an account of this installation. Sign in with an account.',
      })
    await putSubscription(q, orgId, {
      id,
      userId,
      host,
      endpointSha256: sha256Hex(endpoint),
      keys: keyring.seal(JSON.stringify(target), sealedPlace.pushSubscription(id)),
    })
    if ((await listSubscriptions(q, orgId, userId)).length > MAX_SUBSCRIPTIONS)
      throw new ChaperoneError('conflict', {
        detail: `A user has at most ${MAX_SUBSCRIPTIONS} browsers with notifications. Remove one first.`,
      })
    const details = { subscription_id: id, host }
    await recordEvent(q, { orgId, actor, type: 'push_subscription.created', details })
  })
  return id
}

function ownOf({ userId }: PushUser, id: string, row: SubscriptionRow | undefined): SubscriptionRow {
  if (row?.userId === userId) return row
  throw new ChaperoneError('not_found', {
    detail: `You have no subscription ${id}. List your subscriptions to find its id.`,
  })
}

/** Returns the number of pending approvals that the user may answer and has not answered yet. */
async function countFor({ db, approvals }: PushDeps, userId: string): Promise<number> {
  const users = await listUsers(db)
  const { approvals: cards } = await approvals.list('all', {
    status: 'pending',
    kind: undefined,
    limit: LIMITS.listMax,
    offset: 0,
  })
  const user = users.find(({ id }) => id === userId)
  if (user === undefined) return 0
  return cards.filter(
    (card) =>
      !card.answers.some(({ by }) => by === user.email) &&
      approversOf(users, card).some(({ id }) => id === userId),
  ).length
}

/** Sends a message to one browser, and stores the result. A subscription that the browser has ended is deleted. */
async function push(
  { db, orgId, keyring, sender }: PushDeps,
  row: SubscriptionRow,
  message: PushMessage,
  signal: AbortSignal,
): Promise<Delivery> {
  const target = JSON.parse(keyring.open(row.keys, sealedPlace.pushSubscription(row.id))) as PushTarget
  const delivery = await sender.send(target, message, signal).catch(asFailed)
  if (delivery.outcome !== 'gone') {
    if (!signal.aborted || delivery.outcome === 'delivered') await recordPush(db, row.id, errorOf(delivery))
    return delivery
  }
  await db.tx(async (q) => {
    if (!(await deleteSubscription(q, row.id))) return
    const details = { subscription_id: row.id, host: row.host, reason: 'ended by the browser' }
    await recordEvent(q, {
      orgId,
      actor: systemActor('web push'),
      type: 'push_subscription.deleted',
      details,
    })
  })
  return {
    outcome: 'obsolete',
    why: 'the browser has ended the subscription, so it was removed; turn on notifications there again',
  }
}

async function testAll(deps: PushDeps, signal: AbortSignal): Promise<Delivery> {
  const rows = await listSubscriptions(deps.db, deps.orgId, null)
  const deliveries = await Promise.all(rows.map((row) => push(deps, row, TEST, signal)))
  return (
    deliveries.find(({ outcome }) => outcome !== 'delivered' && outcome !== 'obsolete') ??
    deliveries.find(({ outcome }) => outcome === 'delivered') ?? {
      outcome: 'failed',
      status: null,
      why: 'no browser has a subscription any more',
    }
  )
}

function viewOf(row: SubscriptionRow): PushSubscriptionView {
  return {
    id: row.id,
    host: row.host,
    endpoint_sha256: row.endpointSha256,
    created_at: row.createdAt.toISOString(),
    last_delivered_at: row.lastDeliveredAt?.toISOString() ?? null,
    last_failed_at: row.lastFailedAt?.toISOString() ?? null,
    last_error: row.lastError,
  }
}
