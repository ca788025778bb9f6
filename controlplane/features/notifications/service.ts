import { randomBytes } from 'node:crypto'
import { ChaperoneError } from '../../../core/errors.ts'
import { base62 } from '../../../core/ids.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import { sealedPlace } from '../../crypto/sealed-places.ts'
import type { Db, Query } from '../../db/query.ts'
import {
  insertMessage,
  listMessages,
  type OutboxEntry,
  type OutboxInput,
  type OutboxState,
  reviveMessage,
} from './store.ts'

export type NotifyEvent =
  | 'action.allowed'
  | 'action.denied'
  | 'action.approved'
  | 'action.expired'
  | 'action.cancelled'

export type Notification = {
  readonly orgId: string
  /** Address of the receiver, http or https, from the field `webhook_url` of the action request. */
  readonly url: string
  readonly event: NotifyEvent
  readonly actionRequestId: string
  /** Status of the action after the event. */
  readonly status: string
  readonly decision: unknown
  /**
   * Decision token for the receiver. The token is not stored: delivery signs it again, and sends it over https only.
   */
  readonly decisionToken?: string | null
  readonly actionSpec: unknown
}

export type Notifications = {
  /** Queues one notification in the caller's transaction. Delivery begins after the commit. */
  enqueue(q: Query, notification: Notification): Promise<void>
  list(filter: {
    readonly state?: OutboxState | undefined
    readonly subjectId?: string | undefined
    readonly limit: number
    readonly offset: number
  }): Promise<{ readonly rows: readonly OutboxEntry[]; readonly total: number }>
  /** Sends a dead message again. Throws `not_found`, or `conflict` when the message is not dead. */
  retry(eventId: string): Promise<void>
}

type Deps = { readonly db: Db; readonly orgId: string; readonly keyring: Keyring }

export function createNotifications({ db, orgId, keyring }: Deps): Notifications {
  return {
    async enqueue(q, given) {
      const eventId = newEventId()
      await insertMessage(q, {
        eventId,
        orgId: given.orgId,
        kind: 'webhook',
        orderKey: given.actionRequestId,
        receiver: receiverOf(given.url),
        url: keyring.seal(given.url, sealedPlace.outboxUrl(eventId)),
        event: given.event,
        subjectId: given.actionRequestId,
        payload: { status: given.status, decision: given.decision ?? null, action_spec: given.actionSpec },
      })
    },
    list: (filter) => listMessages(db, orgId, filter),
    async retry(eventId) {
      const state = await db.tx((q) => reviveMessage(q, orgId, eventId))
      if (state === 'dead') return
      if (state === undefined) {
        throw new ChaperoneError('not_found', {
          detail: `There is no notification ${eventId}. List the notifications to find its id.`,
        })
      }
      throw new ChaperoneError('conflict', {
        detail: `Notification ${eventId} is ${state}. Only a notification whose delivery has failed for good (dead) can be sent again.`,
      })
    },
  }
}

/** Queues one message in the caller's transaction. Its delivery does not delay any other message. */
export function queueMessage(q: Query, message: Omit<OutboxInput, 'eventId' | 'orderKey'>): Promise<void> {
  const eventId = newEventId()
  return insertMessage(q, { ...message, eventId, orderKey: eventId })
}

export function newEventId(): string {
  return `ntf_${base62(randomBytes(20))}`
}

/**
 * Returns the receiver of a message, for which limits of concurrency and rate apply: scheme and host of the address.
 * Unlike the path, scheme and host are not secret.
 */
function receiverOf(url: string): string {
  if (!URL.canParse(url)) return 'no address'
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}
