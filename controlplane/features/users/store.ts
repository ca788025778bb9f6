import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import { COLUMNS, type UserRow } from './rows.ts'

export type UserInput = Omit<UserRow, 'status' | 'createdAt' | 'namespaces' | 'lowerRoles'>

/** Serialises registrations until the transaction ends, because each registration checks whether an owner exists. */
export async function lockRegistrations(q: Query): Promise<void> {
  await q.query('select pg_advisory_xact_lock(hashtext($1))', ['chaperone registrations'])
}

/** Inserts the user. Returns undefined when an account with the e-mail address exists. */
export async function insertUser(q: Query, row: UserInput): Promise<UserRow | undefined> {
  const { rows } = await q.query<UserRow>(
    `insert into users (id, org_id, email, name, role, password_hash, groups) values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (org_id, lower(email)) do nothing returning ${COLUMNS}`,
    [row.id, row.orgId, row.email, row.name, row.role, row.passwordHash, row.groups],
  )
  return rows[0]
}

export async function updateUser(
  q: Query,
  id: string,
  change: Partial<Pick<UserRow, 'role' | 'status' | 'groups' | 'namespaces' | 'lowerRoles'>>,
): Promise<UserRow> {
  const { rows } = await q.query<UserRow>(
    `update users set role = coalesce($2, role), status = coalesce($3, status), groups = coalesce($4, groups),
       namespaces = case when $5 then $6::text[] else namespaces end,
       lower_roles = coalesce($7::jsonb, lower_roles)
     where id = $1 returning ${COLUMNS}`,
    [
      ...[id, change.role ?? null, change.status ?? null, change.groups ?? null],
      ...[change.namespaces !== undefined, change.namespaces ?? null],
      change.lowerRoles === undefined ? null : JSON.stringify(change.lowerRoles),
    ],
  )
  return onlyRow(rows)
}

export async function setPasswordHash(q: Query, id: string, passwordHash: string): Promise<void> {
  await q.query('update users set password_hash = $2 where id = $1', [id, passwordHash])
}
