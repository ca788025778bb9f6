import type { Role } from '../../../core/wire/access/rights.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'

export type LowerRole = {
  readonly role: 'member' | 'viewer'
  /** Namespaces in which the role counts. Null = every namespace. */
  readonly namespaces: readonly string[] | null
}

export type UserRow = {
  readonly id: string
  readonly orgId: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly status: 'active' | 'suspended'
  readonly passwordHash: string
  readonly groups: readonly string[]
  /** Namespaces in which the role counts. Null = every namespace. */
  readonly namespaces: readonly string[] | null
  readonly lowerRoles: readonly LowerRole[]
  readonly createdAt: Date
}

export type UserInput = Omit<UserRow, 'status' | 'createdAt' | 'namespaces' | 'lowerRoles'>

const COLUMNS = `id, org_id as "orgId", email, name, role, status, password_hash as "passwordHash", groups, namespaces,
  lower_roles as "lowerRoles", created_at as "createdAt"`

export async function listUsers(q: Query): Promise<readonly UserRow[]> {
  const { rows } = await q.query<UserRow>(`select ${COLUMNS} from users order by created_at, id`, [])
  return rows
}

export async function getUser(q: Query, id: string): Promise<UserRow | undefined> {
  const { rows } = await q.query<UserRow>(`select ${COLUMNS} from users where id = $1`, [id])
  return rows[0]
}

/** Locks the row until the transaction ends, which serializes changes of one user. */
export async function lockUser(q: Query, id: string): Promise<UserRow | undefined> {
  const { rows } = await q.query<UserRow>(`select ${COLUMNS} from users where id = $1 for update`, [id])
  return rows[0]
}

/** Locks the row against changes until the transaction ends; several transactions may share the lock. */
export async function shareUser(q: Query, id: string): Promise<UserRow | undefined> {
  const { rows } = await q.query<UserRow>(`select ${COLUMNS} from users where id = $1 for share`, [id])
  return rows[0]
}

export async function findUserByEmail(q: Query, email: string): Promise<UserRow | undefined> {
  const { rows } = await q.query<UserRow>(`select ${COLUMNS} from users where lower(email) = lower($1)`, [
    email,
  ])
  return rows[0]
}

/** Serializes the checks of whether an owner exists, which registrations make, until the transaction ends. */
export async function lockRegistrations(q: Query): Promise<void> {
  await q.query('select pg_advisory_xact_lock(hashtext($1))', ['chaperone registrations'])
}

/** Serializes changes of roles, status and keys over all replicas, until the transaction ends. */
export async function lockUserChanges(q: Query): Promise<void> {
  await q.query('select pg_advisory_xact_lock(hashtext($1))', ['chaperone user changes'])
}

export async function hasUsers(q: Query): Promise<boolean> {
  const { rows } = await q.query<{ some: boolean }>('select exists (select 1 from users) as some', [])
  return onlyRow(rows).some
}

export async function hasOwner(q: Query): Promise<boolean> {
  const { rows } = await q.query<{ some: boolean }>(
    "select exists (select 1 from users where role = 'owner' and status = 'active') as some",
    [],
  )
  return onlyRow(rows).some
}

/**
 * Returns whether another owner can sign in: by password where password sign-in is enabled, or confirmed by the
 * provider.
 */
export async function hasOtherOwner(
  q: Query,
  { userId, isPasswordOn }: { readonly userId: string; readonly isPasswordOn: boolean },
): Promise<boolean> {
  const { rows } = await q.query<{ some: boolean }>(
    `select exists (
       select from users u left join user_identities i on i.user_id = u.id
       where u.role = 'owner' and u.status = 'active' and u.id <> $1
         and case when i.user_id is null then $2 else i.tokens is not null end
     ) as some`,
    [userId, isPasswordOn],
  )
  return onlyRow(rows).some
}

/** Returns every group of active users with a role in the namespaces. */
export async function listGroupsIn(q: ScopedQuery): Promise<ReadonlySet<string>> {
  const rows = await q.rows<{ name: string }>(
    [],
    (within) =>
      `select distinct unnest(groups) as name from users where status = 'active' and ${within.overlap('namespaces')}`,
  )
  return new Set(rows.map((row) => row.name))
}

/** Returns every group of active users. */
export async function listGroups(q: Query): Promise<ReadonlySet<string>> {
  const { rows } = await q.query<{ name: string }>(
    "select distinct unnest(groups) as name from users where status = 'active'",
    [],
  )
  return new Set(rows.map((row) => row.name))
}

/** Inserts the user. Undefined when the e-mail address already has an account. */
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
