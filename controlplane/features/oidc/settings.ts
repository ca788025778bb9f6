import * as z from 'zod'
import { isLoopback } from '../../../core/loopback.ts'
import { fieldMessage } from '../../../core/schema/field-message.ts'

/** Access that membership in a group of the provider gives. */
export type GroupAccess = {
  /** Role of the members, `admin` at most: only an owner can make another user an owner. */
  readonly role: 'admin' | 'member' | 'viewer' | null
  readonly approverGroups: readonly string[]
  /**
   * Namespaces in which the role of this group counts; null means every namespace. The namespaces do not narrow roles
   * of other groups.
   */
  readonly namespaces: readonly string[] | null
}

export type OidcSettings = {
  /** Issuer. It must equal the issuer in the ID tokens of the provider, character by character. */
  readonly issuer: string
  readonly clientId: string
  /** File with the secret of the client. Null means a public client, which PKCE protects. */
  readonly clientSecretFile: string | null
  readonly scopes: readonly string[]
  readonly groupsClaim: string
  /** Access by group name at the provider. The name `*` stands for every user of the provider. */
  readonly groups: ReadonlyMap<string, GroupAccess>
  /** Label of the button on the sign-in page. */
  readonly name: string
}

export type OidcVariable =
  | 'OIDC_ISSUER'
  | 'OIDC_CLIENT_ID'
  | 'OIDC_CLIENT_SECRET_FILE'
  | 'OIDC_SCOPES'
  | 'OIDC_GROUPS_CLAIM'
  | 'OIDC_GROUPS'
  | 'OIDC_NAME'

const Names = z.array(z.string().min(1).max(253)).max(500)
const Entry = z
  .strictObject({
    role: z.enum(['admin', 'member', 'viewer'], 'must be admin, member or viewer').optional(),
    approverGroups: Names.default([]),
    namespaces: Names.min(1).optional(),
  })
  .refine(
    ({ role, namespaces }) => namespaces === undefined || role !== undefined,
    'namespaces require a role',
  )
const Groups = z.record(z.string().min(1), Entry)

/**
 * Reads the settings from environment variables; null without `OIDC_ISSUER`. Each error names the variable, the problem
 * and the value to set.
 */
export function readOidcSettings(text: (name: OidcVariable) => string | null): OidcSettings | null {
  const values = {
    issuer: text('OIDC_ISSUER'),
    clientId: text('OIDC_CLIENT_ID'),
    clientSecretFile: text('OIDC_CLIENT_SECRET_FILE'),
    scopes: text('OIDC_SCOPES'),
    groupsClaim: text('OIDC_GROUPS_CLAIM'),
    groups: text('OIDC_GROUPS'),
    name: text('OIDC_NAME'),
  }
  if (values.issuer === null) return null
  const issuer = checkedIssuer(values.issuer)
  if (values.clientId === null)
    throw new Error(
      'OIDC_ISSUER is set without OIDC_CLIENT_ID: set OIDC_CLIENT_ID to the id of the client at the provider',
    )
  const scopes = (values.scopes ?? 'openid profile email').split(/\s+/)
  if (!scopes.includes('openid')) throw new Error('OIDC_SCOPES lacks openid: set it to openid profile email')
  return {
    issuer,
    clientId: values.clientId,
    clientSecretFile: values.clientSecretFile,
    scopes,
    groupsClaim: values.groupsClaim ?? 'groups',
    groups: groupTable(values.groups ?? ''),
    name: values.name ?? new URL(issuer).host,
  }
}

function checkedIssuer(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null
  const isPlain = url?.search === '' && url.hash === '' && url.username === ''
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  if (isPlain && isSafe) return value
  throw new Error(
    `OIDC_ISSUER is "${value}": set it to the https address that the provider's discovery document names as issuer`,
  )
}

function groupTable(value: string): OidcSettings['groups'] {
  const example = 'set it to JSON such as {"platform-admins": {"role": "admin"}}'
  const parsed = Groups.safeParse(jsonOf(value), { error: fieldMessage })
  if (!parsed.success) {
    const [first] = parsed.error.issues
    const place = first?.path.length ? `${first.path.join('.')}: ` : ''
    throw new Error(`OIDC_GROUPS: ${place}${first?.message ?? 'is invalid'}; ${example}`)
  }
  const entries = Object.entries(parsed.data)
  if (!entries.some(([, { role }]) => role !== undefined))
    throw new Error(`OIDC_GROUPS gives no group a role, so no user could sign in: ${example}`)
  return new Map(
    entries.map(([name, { role = null, approverGroups, namespaces = null }]) => [
      name,
      { role, approverGroups, namespaces },
    ]),
  )
}

function jsonOf(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
