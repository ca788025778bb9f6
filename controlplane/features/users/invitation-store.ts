import type { Role } from '../../../core/wire/access/rights.ts'
import type { Query } from '../../db/query.ts'

export type Invitation = { readonly id: string; readonly email: string; readonly role: Role }

/** Inserts an invitation, which is valid for 7 days and for one use. */
export async function insertInvitation(
  q: Query,
  row: Invitation & { readonly orgId: string; readonly tokenSha256: Buffer; readonly invitedBy: string },
): Promise<void> {
  await q.query(
    `insert into invitations (id, org_id, email, role, token_sha256, invited_by, expires_at)
     values ($1, $2, $3, $4, $5, $6, now() + interval '7 days')`,
    [row.id, row.orgId, row.email, row.role, row.tokenSha256, row.invitedBy],
  )
}

export type PendingInvitation = Invitation & {
  readonly invitedBy: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** Lists up to 500 invitations that are neither used nor expired, newest first. */
export async function listInvitations(q: Query): Promise<readonly PendingInvitation[]> {
  const { rows } = await q.query<PendingInvitation>(
    `select id, email, role, invited_by as "invitedBy", created_at as "createdAt", expires_at as "expiresAt"
     from invitations where used_at is null and expires_at > now() order by created_at desc, id limit 500`,
  )
  return rows
}

/** Deletes an unused invitation and returns it. Returns undefined when the invitation does not exist or was used. */
export async function deleteInvitation(q: Query, id: string): Promise<Invitation | undefined> {
  const { rows } = await q.query<Invitation>(
    'delete from invitations where id = $1 and used_at is null returning id, email, role',
    [id],
  )
  return rows[0]
}

/**
 * Marks the invitation as used and returns the invitation. Returns undefined for an unknown, expired or used
 * invitation, and when the e-mail address is not the invited address.
 */
export async function takeInvitation(
  q: Query,
  tokenSha256: Buffer,
  email: string,
): Promise<Invitation | undefined> {
  const { rows } = await q.query<Invitation>(
    `update invitations set used_at = now()
     where token_sha256 = $1 and lower(email) = lower($2) and used_at is null and expires_at > now()
     returning id, email, role`,
    [tokenSha256, email],
  )
  return rows[0]
}
