import { createHmac } from 'node:crypto'
import type { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import { isMinted, MINTING_FIELDS } from '../../../core/crd/credentials/credential-spec.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Sealed } from '../../crypto/sealed.ts'
import { sealedPlace } from '../../crypto/sealed-places.ts'
import type { Query } from '../../db/query.ts'

/** A credential in the encrypted store. Manifests name it in `credential.vault`. */
export type CredentialRow = { readonly name: string; readonly secret: Sealed; readonly updatedAt: Date }

type Place = { readonly orgId: string; readonly keyring: Keyring }

export async function listCredentials(q: Query, orgId: string): Promise<readonly CredentialRow[]> {
  const { rows } = await q.query<CredentialRow>(
    'select name, secret, updated_at as "updatedAt" from credentials where org_id = $1 order by name',
    [orgId],
  )
  return rows
}

/** Returns the credential in plain text; null when the store has none of this name. */
export async function readCredential(
  q: Query,
  { orgId, keyring }: Place,
  name: string,
): Promise<string | null> {
  const { rows } = await q.query<Pick<CredentialRow, 'secret'>>(
    'select secret from credentials where org_id = $1 and name = $2',
    [orgId, name],
  )
  const [row] = rows
  return row === undefined ? null : keyring.open(row.secret, sealedPlace.credential(name))
}

/** State of the short-lived credential of one Connector. */
export type MintedRow = {
  readonly connectorId: string
  readonly sourceHash: string | null
  /** Number of credentials that were minted for the Connector. The number identifies the current credential. */
  readonly serial: number
  readonly secret: Sealed | null
  readonly rotated: Sealed | null
  readonly issuedAt: Date | null
  readonly expiresAt: Date | null
  readonly failures: number
  readonly error: string | null
  readonly failedAt: Date | null
  /** Milliseconds until the next minting is due, by the clock of the database; negative when the minting is overdue. */
  readonly dueInMs: number
  /** Milliseconds until the claim of the row expires. While positive, a replica may be minting the credential. */
  readonly claimedMs: number
}

export const MINTED_COLUMNS = `connector_id as "connectorId", source_hash as "sourceHash", serial::float8 as serial, secret,
  rotated, issued_at as "issuedAt", expires_at as "expiresAt", failures, error, failed_at as "failedAt",
  (extract(epoch from due_at - now()) * 1000)::float8 as "dueInMs",
  (coalesce(extract(epoch from claimed_until - now()), 0) * 1000)::float8 as "claimedMs"`

/** Returns the states of short-lived credentials, by the id of the Connector. */
export async function listMinted(q: Query): Promise<ReadonlyMap<string, MintedRow>> {
  const { rows } = await q.query<MintedRow>(`select ${MINTED_COLUMNS} from minted_credentials`, [])
  return new Map(rows.map((row) => [row.connectorId, row]))
}

/** Returns the state of the short-lived credential of a Connector; undefined before the first minting. */
export async function getMinted(q: Query, connectorId: string): Promise<MintedRow | undefined> {
  const { rows } = await q.query<MintedRow>(
    `select ${MINTED_COLUMNS} from minted_credentials where connector_id = $1`,
    [connectorId],
  )
  return rows[0]
}

type MintedConnector = { readonly source: string; readonly spec: Pick<ConnectorSpec, 'credential'> }

/** Reports whether gateways receive short-lived credentials in place of the stored credential of the Connector. */
export function hasMinted({ source, spec }: MintedConnector): boolean {
  return source !== 'api' && isMinted(spec.credential)
}

/** Returns the field of `spec.credential` that states how short-lived credentials are minted. */
export function mintedKind({ spec: { credential } }: MintedConnector): (typeof MINTING_FIELDS)[number] {
  return MINTING_FIELDS.find((field) => credential?.[field] !== undefined) ?? 'oauth2'
}

/** Reports whether gateways request tokens that are narrowed to the actions of a request. */
export function isNarrowed({ spec }: MintedConnector): boolean {
  const { githubApp, oauth2 } = spec.credential ?? {}
  return githubApp?.narrow === true || (oauth2?.scopesByAction.length ?? 0) > 0
}

/**
 * SQL condition on a row of `connectors`. The condition is true for a Connector with short-lived credentials
 * (`hasMinted`) whose column `credential` contains a stored credential or `NOTHING_STORED`.
 */
export const MINTS_SQL = `source <> 'api' and credential is not null
  and coalesce(spec -> 'credential' ?| array[${MINTING_FIELDS.map((field) => `'${field}'`).join(', ')}], false)`

/**
 * Returns `spec.credential` without the fields for narrowed tokens, because these fields do not affect the credential
 * of the Connector.
 */
function withoutNarrowing(credential: ConnectorSpec['credential']): unknown {
  if (credential?.githubApp !== undefined) {
    const { narrow: _narrow, ...githubApp } = credential.githubApp
    return { ...credential, githubApp }
  }
  if (credential?.oauth2 === undefined) return credential
  const { scopesByAction: _scopes, ...oauth2 } = credential.oauth2
  return { ...credential, oauth2 }
}

/**
 * Returns a hash of the specification and the stored credential from which a short-lived credential is minted.
 * Short-lived credentials with another hash are outdated. The hash is keyed, so that it does not disclose the stored
 * credential.
 */
export function sourceHash(
  keyring: Pick<Keyring, 'derive'>,
  credential: ConnectorSpec['credential'],
  secret: string,
): string {
  const text = JSON.stringify([withoutNarrowing(credential), secret])
  return createHmac('sha256', keyring.derive('sources of minted credentials')).update(text).digest('hex')
}

/**
 * Returns an id of the stored credential that is different after each change, for records. The id is a keyed hash, so
 * that it discloses neither the credential nor whether two Connectors have the same credential.
 */
export function storedVersion(keyring: Pick<Keyring, 'derive'>, connectorId: string, secret: string): string {
  const key = keyring.derive('versions of stored credentials')
  return createHmac('sha256', key)
    .update(JSON.stringify([connectorId, secret]))
    .digest('hex')
    .slice(0, VERSION_DIGITS)
}

/** Length of the id in hex digits. Two versions of one credential have the same id with a probability of 2^-48. */
const VERSION_DIGITS = 12

/** Maximum number of scopes, repositories and permissions in audit events and records. */
const MAX_SCOPE = 128

/**
 * Returns the scopes, or the repositories and permissions, that the Connector states for its tokens. Returns an empty
 * list if it states none.
 */
export function statedScope({ spec }: MintedConnector): string[] {
  const { githubApp, oauth2 } = spec.credential ?? {}
  const scope =
    githubApp === undefined ? (oauth2?.scopes ?? []) : [...githubApp.repositories, ...githubApp.permissions]
  return scope.slice(0, MAX_SCOPE)
}
