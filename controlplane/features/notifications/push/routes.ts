import { ChaperoneError } from '../../../../core/errors.ts'
import { TestChannelReply } from '../../../../core/wire/notifications/notification-channels.ts'
import {
  PushSubscriptionBody,
  PushSubscriptionList,
  PushSubscriptionQuery,
  PushSubscriptionReply,
  TestPushBody,
} from '../../../../core/wire/notifications/push-subscriptions.ts'
import { Ok } from '../../../../core/wire/schema/fields.ts'
import { userOf } from '../../../http/auth/user-principal.ts'
import { type Principal, type Route, route } from '../../../http/route.ts'
import { actorOf, userIdOf } from '../../audit/actor.ts'
import type { PushSubscriptions, PushUser } from './service.ts'

const PATH = '/api/dashboard/push-subscriptions'

/**
 * Returns the routes by which a user manages the browsers that receive the user's Web Push messages. An approver key
 * cannot add browsers, because it only answers approvals.
 */
export function createPushRoutes(push: PushSubscriptions): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: PATH,
      auth: 'approvals/get',
      isNamespaced: true,
      summary: "Lists the caller's browsers with Web Push, and the public key for a new one",
      response: PushSubscriptionList,
      handler: ({ principal }) => push.list(pushUser(principal)),
    }),
    route({
      method: 'POST',
      path: PATH,
      auth: 'approvals/get',
      isNamespaced: true,
      summary: 'Sends the caller a Web Push message with the number of pending approvals in this browser',
      body: PushSubscriptionBody,
      statuses: [409],
      response: PushSubscriptionReply,
      handler: async ({ principal, body }) => ({
        ok: true as const,
        id: await push.add(pushUser(principal), body),
      }),
    }),
    route({
      method: 'DELETE',
      path: PATH,
      auth: 'approvals/get',
      isNamespaced: true,
      summary: "Removes one of the caller's browsers",
      query: PushSubscriptionQuery,
      statuses: [404],
      response: Ok,
      handler: async ({ principal, query }) => {
        await push.remove(pushUser(principal), query.id)
        return { ok: true as const }
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/test`,
      auth: 'approvals/get',
      isNamespaced: true,
      summary: "Sends a test message to one of the caller's browsers; returns the error of its push service",
      body: TestPushBody,
      statuses: [404],
      response: TestChannelReply,
      handler: ({ principal, body }) => push.test(pushUser(principal), body.id),
    }),
  ]
}

function pushUser(principal: Principal): PushUser {
  const user = userOf(principal)
  const userId = userIdOf(user)
  if (userId !== null) return { userId, actor: actorOf(user) }
  throw new ChaperoneError('forbidden', {
    detail: 'Web Push belongs to a user, and the admin token belongs to none. Sign in with an account.',
  })
}
