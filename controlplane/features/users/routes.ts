import type * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import {
  type InvitationView,
  KEY_DAYS,
  UserActionBody,
  UserActionReply,
  UserList,
  type UserView,
} from '../../../core/wire/users.ts'
import { type Route, route } from '../../http/route.ts'
import { ownerOf } from './approver-keys/routes.ts'
import type { ApproverKeys, KeyOwner } from './approver-keys/service.ts'
import type { PendingInvitation } from './invitation-store.ts'
import type { UserRow } from './rows.ts'
import type { Users } from './service.ts'

export type UserRoutesDeps = {
  readonly users: Users
  readonly approverKeys: Pick<ApproverKeys, 'create'>
  /** Returns the address of the dashboard, without a slash at the end. Links for users begin with this address. */
  readonly baseUrl: () => string
}

export function createUserRoutes(deps: UserRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/users',
      auth: 'users/get',
      summary: 'Lists all users, and the unused invitations',
      response: UserList,
      handler: async () => ({
        users: (await deps.users.list()).map(userView),
        invitations: (await deps.users.invitations()).map(invitationView),
      }),
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/users',
      auth: 'users/update',
      givesAccess: true,
      summary:
        'Changes a role, suspends, activates or invites a user, revokes an invitation, sets groups, or creates an approver key of the caller',
      body: UserActionBody,
      response: UserActionReply,
      handler: async ({ body, ...input }) => act(deps, ownerOf(input), body),
    }),
  ]
}

async function act(
  { users, approverKeys, baseUrl }: UserRoutesDeps,
  owner: KeyOwner,
  body: z.infer<typeof UserActionBody>,
): Promise<UserActionReply> {
  const { user: by } = owner
  switch (body.action) {
    case 'change_role':
      return { ok: true, role: (await users.changeRole(by, body.user_id, body.role)).role }
    case 'suspend':
      return { ok: true, role: (await users.suspend(by, body.user_id)).role }
    case 'activate':
      return { ok: true, role: (await users.activate(by, body.user_id)).role }
    case 'set_groups': {
      const { role, groups } = await users.setGroups(by, body.user_id, body.groups)
      return { ok: true, role, groups: [...groups] }
    }
    case 'create_key':
      return createOwnKey(approverKeys, owner, body.user_id)
    case 'invite': {
      const token = await users.invite(by, body.email, body.role)
      const link = new URLSearchParams({ invite: token, email: body.email })
      return { ok: true, invite_link: `${baseUrl()}/setup?${link}`, invite_token: token }
    }
    case 'revoke_invitation':
      return { ok: true, role: await users.revokeInvitation(by, body.invitation_id) }
    default:
      throw new ChaperoneError('internal', {
        detail: `unhandled action ${JSON.stringify(body satisfies never)}`,
      })
  }
}

/** Creates an approver key for the caller only, because a key answers approvals in the name of its user. */
async function createOwnKey(
  approverKeys: UserRoutesDeps['approverKeys'],
  owner: KeyOwner,
  userId: string,
): Promise<UserActionReply> {
  if (owner.user.userId !== userId) {
    throw new ChaperoneError('forbidden', {
      detail:
        'Users create their own approver keys. The user signs in and uses POST /api/auth/keys or "Approver keys" in the user menu.',
    })
  }
  const made = await approverKeys.create(owner, { name: null, days: KEY_DAYS.default })
  return { ok: true, id: made.id, api_key: made.key, expires_at: made.expiresAt.toISOString() }
}

function invitationView(row: PendingInvitation): InvitationView {
  const { id, email, role, invitedBy, createdAt, expiresAt } = row
  const times = { created_at: createdAt.toISOString(), expires_at: expiresAt.toISOString() }
  return { id, email, role, invited_by: invitedBy, ...times }
}

function userView(row: UserRow): UserView {
  const { id, email, name, role, status, groups, namespaces, lowerRoles } = row
  return {
    id,
    email,
    name,
    role,
    status,
    groups: [...groups],
    namespaces: namesOf(namespaces),
    lower_roles: lowerRoles.map((lower) => ({ role: lower.role, namespaces: namesOf(lower.namespaces) })),
    created_at: row.createdAt.toISOString(),
  }
}

function namesOf(namespaces: readonly string[] | null): string[] | null {
  return namespaces === null ? null : [...namespaces]
}
