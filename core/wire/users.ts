import * as z from 'zod'
import { Email, Id, Ok, RoleSchema } from './schema/fields.ts'

export const UserView = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  role: RoleSchema,
  status: z.enum(['active', 'suspended']),
  /** Approver groups of the user. */
  groups: z.array(z.string()),
  /** Namespaces in which the role applies; null for all namespaces. */
  namespaces: z.array(z.string()).nullable(),
  /** Lower roles of the user, in namespaces in which `role` does not apply. */
  lower_roles: z.array(
    z.object({ role: z.enum(['member', 'viewer']), namespaces: z.array(z.string()).nullable() }),
  ),
  created_at: z.string(),
})
/** Unused invitation. */
export const InvitationView = z.object({
  id: z.string(),
  email: z.string(),
  role: RoleSchema,
  invited_by: z.string().nullable(),
  created_at: z.string(),
  expires_at: z.string(),
})
export const UserList = z.object({ users: z.array(UserView), invitations: z.array(InvitationView) })

/** Change of one user (spec 4.4 and its extensions). */
export const UserActionBody = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('change_role'), user_id: Id, role: RoleSchema }),
  z.strictObject({ action: z.literal('suspend'), user_id: Id }),
  z.strictObject({ action: z.literal('activate'), user_id: Id }),
  z.strictObject({
    action: z.literal('set_groups'),
    user_id: Id,
    groups: z.array(z.string().min(1).max(128)).max(64),
  }),
  z.strictObject({ action: z.literal('create_key'), user_id: Id }),
  z.strictObject({ action: z.literal('invite'), email: Email, role: RoleSchema.default('viewer') }),
  z.strictObject({ action: z.literal('revoke_invitation'), invitation_id: Id }),
])
/**
 * Result of the change. Its fields depend on the action: the new role and groups, a new approver key, or an
 * invitation.
 */
export const UserActionReply = Ok.extend({
  role: RoleSchema.optional(),
  groups: z.array(z.string()).optional(),
  id: z.string().optional(),
  api_key: z.string().optional(),
  expires_at: z.string().optional(),
  invite_link: z.string().optional(),
  invite_token: z.string().optional(),
})

/** Lifetime of approver keys in days: default and maximum. */
export const KEY_DAYS = { default: 90, max: 365 } as const

export const ApproverKeyView = z.object({
  id: z.string(),
  name: z.string().nullable(),
  prefix: z.string(),
  created_at: z.string(),
  expires_at: z.string(),
  last_used_at: z.string().nullable(),
})
export const ApproverKeyList = z.object({ keys: z.array(ApproverKeyView) })
export const CreateKeyBody = z.strictObject({
  name: z.string().min(1).max(100).optional(),
  expires_in_days: z.int().min(1).max(KEY_DAYS.max).default(KEY_DAYS.default),
})
export const CreateKeyReply = Ok.extend({ id: z.string(), api_key: z.string(), expires_at: z.string() })
export const RevokeKeyQuery = z.strictObject({ id: Id })

export type UserView = z.infer<typeof UserView>
export type InvitationView = z.infer<typeof InvitationView>
export type UserList = z.infer<typeof UserList>
export type UserActionBody = z.input<typeof UserActionBody>
export type UserActionReply = z.infer<typeof UserActionReply>
export type ApproverKeyView = z.infer<typeof ApproverKeyView>
export type ApproverKeyList = z.infer<typeof ApproverKeyList>
export type CreateKeyBody = z.input<typeof CreateKeyBody>
export type CreateKeyReply = z.infer<typeof CreateKeyReply>
export type RevokeKeyQuery = z.input<typeof RevokeKeyQuery>
