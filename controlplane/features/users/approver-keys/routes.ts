import { Ok } from '../../../../core/wire/schema/fields.ts'
import {
  ApproverKeyList,
  type ApproverKeyView,
  CreateKeyBody,
  CreateKeyReply,
  RevokeKeyQuery,
} from '../../../../core/wire/users.ts'
import { userOf } from '../../../http/auth/user-principal.ts'
import { type Principal, type Route, route } from '../../../http/route.ts'
import type { ApproverKeys, KeyOwner } from './service.ts'
import type { UserKeyRow } from './store.ts'

export type AuthKeyRoutesDeps = { readonly approverKeys: ApproverKeys }

const PATH = '/api/auth/keys'

/**
 * Creates the routes of approver keys, which are not part of API v1. Only the user in whose name a key answers can
 * create and revoke the key.
 */
export function createAuthKeyRoutes({ approverKeys }: AuthKeyRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: PATH,
      auth: 'approverkeys/get',
      summary: "Lists the caller's approver keys, without their secrets",
      response: ApproverKeyList,
      handler: async (input) => ({ keys: (await approverKeys.list(ownerOf(input))).map(keyView) }),
    }),
    route({
      method: 'POST',
      path: PATH,
      auth: 'approverkeys/update',
      summary: 'Creates an approver key of the caller, shown once; it can only answer approvals',
      body: CreateKeyBody,
      statuses: [409],
      response: CreateKeyReply,
      handler: async ({ body, ...input }) => {
        const wanted = { name: body.name ?? null, days: body.expires_in_days }
        const { id, key, expiresAt } = await approverKeys.create(ownerOf(input), wanted)
        return { ok: true as const, id, api_key: key, expires_at: expiresAt.toISOString() }
      },
    }),
    route({
      method: 'DELETE',
      path: PATH,
      auth: 'approverkeys/update',
      summary: "Revokes one of the caller's approver keys",
      query: RevokeKeyQuery,
      statuses: [404],
      response: Ok,
      handler: async ({ query, ...input }) => {
        await approverKeys.revoke(ownerOf(input), query.id)
        return { ok: true as const }
      },
    }),
  ]
}

/** Returns the authenticated user and the id of the session. Must be called only in routes that require a role. */
export function ownerOf({ principal }: { readonly principal: Principal }): KeyOwner {
  const user = userOf(principal)
  return { user, sessionId: user.session?.id }
}

function keyView(row: UserKeyRow): ApproverKeyView {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
  }
}
