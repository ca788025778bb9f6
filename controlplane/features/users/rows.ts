import type { Role } from '../../../core/wire/access/rights.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { identityStateSql } from '../oidc/rows.ts'
import type { SessionUser } from '../sessions/rows.ts'

export type LowerRole = {
  readonly role: 'member' | 'viewer'
  /** Namespaces in which the role counts; null means every namespace. */
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
  /** Namespaces in which the role counts; null means every namespace. */
  readonly namespaces: readonly string[] | null
  readonly lowerRoles: readonly LowerRole[]
  readonly createdAt: Date
}

export const COLUMNS = `id, org_id as "orgId", email, name, role, status, password_hash as "passwordHash", groups, namespaces,
  lower_roles as "lowerRoles", created_at as "createdAt"`

export async function listUsers(q: Query): Promise<readonly UserRow[]> {
  const { rows } = await q.query<UserRow>(`select ${COLUMNS} from users order by created_at, id`, [])
  return rows
}

export async function getUser(q: Query, id: string): Promise<UserRow | undefined> {
  const { rows } = await q.query<UserRow>(`select ${COLUMNS} from users where id = $1`, [id])
  return rows[0]
}

/**
 * Serialises changes of the roles, status and approver keys of users until the transaction ends, also between replicas.
 */
export async function lockUserChanges(q: Query): Promise<void> {
  await q.query('select pg_advisory_xact_lock(hashtext($1))', ['chaperone user changes'])
}

/** Locks the row until the transaction ends, so that changes of one user are serialised. */
export async function lockUser(q: Query, id: string): Promise<UserRow | undefined> {
  const { rows } = await q.query<UserRow>(`select ${COLUMNS} from users where id = $1 for update`, [id])
  return rows[0]
}

/**
 * Locks the row against changes until the transaction ends. Several transactions can hold the lock at the same time.
 */
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
 * Returns whether another owner can sign in. An owner with a password counts if passwords are enabled. An owner of
 * the provider counts while the provider confirms the user.
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

/** Lists the approver groups of the active users who have a role in at least one namespace of the query's caller. */
export async function listGroupsIn(q: ScopedQuery): Promise<ReadonlySet<string>> {
  const rows = await q.rows<{ name: string }>(
    [],
    (within) =>
      `select distinct unnest(groups) as name from users where status = 'active' and ${within.overlap('namespaces')}`,
  )
  return new Set(rows.map((row) => row.name))
}

/** Lists the approver groups of active users. */
export async function listGroups(q: Query): Promise<ReadonlySet<string>> {
  const { rows } = await q.query<{ name: string }>(
    "select distinct unnest(groups) as name from users where status = 'active'",
    [],
  )
  return new Set(rows.map((row) => row.name))
}

/**
 * Returns the active users with an unexpired approver key that begins with `prefix`. The caller must compare the hash
 * of each returned key.
 */
export async function findUserKeys(
  q: Query,
  prefix: string,
): Promise<readonly (SessionUser & { readonly keyId: string; readonly sha256: Buffer })[]> {
  const { rows } = await q.query<SessionUser & { keyId: string; sha256: Buffer }>(
    `select u.id, u.email, u.role, u.groups, u.namespaces, u.lower_roles as "lowerRoles",
       ${identityStateSql('i')} as identity, k.id as "keyId", k.sha256
     from approver_keys k join users u on u.id = k.user_id left join user_identities i on i.user_id = u.id
     where k.prefix = $1 and u.status = 'active' and k.expires_at > now()`,
    [prefix],
  )
  return rows
}
