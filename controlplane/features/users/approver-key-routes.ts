import * as z from 'zod'
import { Id, Ok } from '../../http/fields.ts'
import { type Principal, type Route, route } from '../../http/route.ts'
import { userOf } from '../sessions/routes.ts'
import type { UserKeyRow } from './approver-key-store.ts'
import { type ApproverKeys, KEY_DAYS, type KeyOwner } from './approver-keys.ts'

export type AuthKeyRoutesDeps = { readonly approverKeys: ApproverKeys }

const PATH = '/api/auth/keys'
const KeyBody = z.strictObject({
  name: z.string().min(1).max(100).optional(),
  expires_in_days: z.int().min(1).max(KEY_DAYS.max).default(KEY_DAYS.default),
})
const KeyView = z.object({
  id: z.string(),
  name: z.string().nullable(),
  prefix: z.string(),
  created_at: z.string(),
  expires_at: z.string(),
  last_used_at: z.string().nullable(),
})

/** Extension: approver keys, made and revoked by the person whose answers they give and by nobody else. */
export function createAuthKeyRoutes({ approverKeys }: AuthKeyRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: PATH,
      auth: 'approverkeys/get',
      summary: 'Your own approver keys, without their secrets',
      response: z.object({ keys: z.array(KeyView) }),
      handler: async (input) => ({ keys: (await approverKeys.list(ownerOf(input))).map(keyView) }),
    }),
    route({
      method: 'POST',
      path: PATH,
      auth: 'approverkeys/update',
      summary:
        'Makes an approver key for yourself, shown this once; it can answer approvals and nothing else',
      body: KeyBody,
      statuses: [409],
      response: Ok.extend({ id: z.string(), api_key: z.string(), expires_at: z.string() }),
      handler: async ({ body, ...input }) => {
        const wanted = { name: body.name ?? null, days: body.expires_in_days }
        const { id, key, expiresAt } = await approverKeys.create(ownerOf(input), wanted)
        return { ok: true, id, api_key: key, expires_at: expiresAt }
      },
    }),
    route({
      method: 'DELETE',
      path: PATH,
      auth: 'approverkeys/update',
      summary: 'Revokes one of your own approver keys',
      query: z.strictObject({ id: Id }),
      statuses: [404],
      response: Ok,
      handler: async ({ query, ...input }) => {
        await approverKeys.revoke(ownerOf(input), query.id)
        return { ok: true }
      },
    }),
  ]
}

/** The user of a role route and the session that they came with. */
export function ownerOf({ principal }: { readonly principal: Principal }): KeyOwner {
  const user = userOf(principal)
  return { user, sessionId: user.session?.id }
}

function keyView(row: UserKeyRow): z.infer<typeof KeyView> {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
  }
}
