import type { Sealed } from '../../../crypto/sealed.ts'
import type { Query } from '../../../db/query.ts'
import { MINTED_COLUMNS, MINTS_SQL, type MintedRow } from '../rows.ts'

/**
 * Duration of a claim in milliseconds. A minting must end within this time. After a crash, another replica starts the
 * minting when the claim has expired.
 */
const CLAIM_MS = 15_000
/** Maximum of `refusals`. With this number of refusals, the minimum age of a credential reaches `MAX_MIN_AGE_MS`. */
const MAX_REFUSALS = 9

/**
 * Claims for this replica the minting of a short-lived credential of a Connector. Returns null when another replica has
 * claimed the minting, or when no minting is due. A minting becomes due by its time, by a changed `sourceHash`
 * (specification or stored credential), or by `isForced`. The lock on the Connector serialises the claim with a
 * transaction that deletes the row (`deleteUnminted`).
 */
export async function claimMinted(
  q: Query,
  given: {
    readonly connectorId: string
    readonly orgId: string
    readonly sourceHash: string
    readonly isForced: boolean
  },
): Promise<MintedRow | null> {
  const { connectorId, orgId, sourceHash, isForced } = given
  await q.query(
    `insert into minted_credentials (connector_id, org_id)
     select id, $2 from connectors where id = $1 and ${MINTS_SQL} for share on conflict (connector_id) do nothing`,
    [connectorId, orgId],
  )
  const { rows } = await q.query<MintedRow>(
    `update minted_credentials set claimed_until = now() + $3 * interval '1 millisecond'
     where connector_id = $1 and (claimed_until is null or claimed_until <= now())
       and ($4 or due_at <= now() or source_hash is distinct from $2)
     returning ${MINTED_COLUMNS}`,
    [connectorId, sourceHash, CLAIM_MS, isForced],
  )
  return rows[0] ?? null
}

/** Values of the row at the time of the claim. */
type Claimed = Pick<MintedRow, 'issuedAt' | 'sourceHash'>

/**
 * SQL condition on the row of a Connector: since the claim, no other replica has stored a credential or the result of
 * another source. The condition is necessary because a replica that was suspended, or could not reach the database, may
 * store its result after its claim has expired; the refresh token in this result may be void. Times are compared in
 * milliseconds, because the driver reads them in this resolution.
 */
const IS_LATEST = (issuedAt: string, sourceHash: string) => `connector_id = $1
  and date_trunc('milliseconds', issued_at) is not distinct from ${issuedAt}::timestamptz
  and (source_hash = $2 or source_hash is not distinct from ${sourceHash}::text)`

type Success = {
  readonly connectorId: string
  readonly sourceHash: string
  readonly claimed: Claimed
  readonly secret: Sealed
  readonly rotated: Sealed | null
  /** Milliseconds until the credential expires; null for a credential that is valid until its source changes. */
  readonly expiresInMs: number | null
  readonly dueInMs: number
  /**
   * True if the source returned the same credential as before. The credential keeps its number in this case, unless an
   * upstream refused it.
   */
  readonly isSame: boolean
}

/**
 * Stores a minted credential. Returns its number and its expiry; null when the Connector was deleted since the claim,
 * or another replica has stored a later result.
 */
export async function storeMinted(
  q: Query,
  { connectorId, sourceHash, claimed, secret, rotated, expiresInMs, dueInMs, isSame }: Success,
): Promise<Pick<MintedRow, 'serial' | 'expiresAt'> | null> {
  const { rows } = await q.query<Pick<MintedRow, 'serial' | 'expiresAt'>>(
    `update minted_credentials set source_hash = $2, secret = $3, rotated = $4, issued_at = now(),
       serial = serial + case when $7 and refused_serial is distinct from serial then 0 else 1 end,
       expires_at = now() + $5 * interval '1 millisecond', due_at = now() + $6 * interval '1 millisecond',
       claimed_until = null, failures = 0, error = null, failed_at = null,
       refusals = case when refused_serial = serial then least(refusals + 1, ${MAX_REFUSALS}) else 0 end
     where ${IS_LATEST('$8', '$9')} returning serial::float8 as serial, expires_at as "expiresAt"`,
    [
      connectorId,
      sourceHash,
      JSON.stringify(secret),
      rotated && JSON.stringify(rotated),
      expiresInMs,
      dueInMs,
      isSame,
      claimed.issuedAt,
      claimed.sourceHash,
    ],
  )
  return rows[0] ?? null
}

type Failure = {
  readonly connectorId: string
  readonly sourceHash: string
  readonly claimed: Claimed
  readonly error: string
  /** Refresh token that replaces the stored refresh token; null when the source issued no new refresh token. */
  readonly rotated: Sealed | null
  readonly dueInMs: number
}

/**
 * Milliseconds for which a credential without an expiry stays valid after the first failure of its source. The grace
 * period is necessary because a source such as a file is missing for a moment while it is being replaced.
 */
const GRACE_MS = 300_000

/**
 * Stores the failure of a minting. The last credential stays if it came from the same source, otherwise it is deleted.
 * Returns false when the Connector was deleted since the claim, or another replica has stored a later result.
 */
export async function storeMintFailure(
  q: Query,
  { connectorId, sourceHash, claimed, error, rotated, dueInMs }: Failure,
): Promise<boolean> {
  const { rows } = await q.query(
    `update minted_credentials set
       secret = case when source_hash = $2 then secret end,
       rotated = coalesce($5, case when source_hash = $2 then rotated end),
       issued_at = case when source_hash = $2 then issued_at end,
       expires_at = case when source_hash = $2 and secret is not null
         then coalesce(expires_at, now() + $6 * interval '1 millisecond') end,
       source_hash = $2, error = $3, failed_at = now(), failures = failures + 1, claimed_until = null,
       due_at = now() + $4 * interval '1 millisecond'
     where ${IS_LATEST('$7', '$8')} returning connector_id`,
    [
      ...[connectorId, sourceHash, error, dueInMs, rotated && JSON.stringify(rotated), GRACE_MS],
      ...[claimed.issuedAt, claimed.sourceHash],
    ],
  )
  return rows.length > 0
}

/** Makes the minting of a new short-lived credential due now, for each of these Connectors. */
export async function makeDue(q: Query, connectorIds: readonly string[]): Promise<void> {
  await q.query('update minted_credentials set due_at = now() where connector_id = any($1::text[])', [
    connectorIds,
  ])
}

type AtGateway = { readonly connectorId: string; readonly gatewayId: string }

const IS_AT_GATEWAY = `m.connector_id = $1 and c.id = m.connector_id
  and (c.gateway_ids = '{}' or $2 = any (c.gateway_ids))`

/**
 * Minimum age in milliseconds of a credential that is replaced because an upstream refused it. An upstream may answer
 * 401 although the credential is valid. Therefore, the minimum age doubles with each successive credential that was
 * minted because of a refusal.
 */
const MIN_AGE_MS = 10_000
const MAX_MIN_AGE_MS = 3_600_000

/**
 * Makes the replacement of the short-lived credential with the number `serial` due now. Returns null when the last
 * minting failed, when the credential is below its minimum age or is not the current one, and when the Connector does
 * not serve the Gateway. The refusal of a credential whose replacement is due already (`wasDue`) is not counted.
 */
export async function makeRefusedDue(
  q: Query,
  { connectorId, gatewayId, serial }: AtGateway & { readonly serial: number },
): Promise<{ readonly connector: string; readonly wasDue: boolean } | null> {
  const { rows } = await q.query<{ connector: string; wasDue: boolean }>(
    `with found as (
       select m.connector_id, c.name, m.due_at <= now() as was_due from minted_credentials m, connectors c
       where ${IS_AT_GATEWAY} and m.serial = $3 and m.secret is not null and m.error is null
         and m.issued_at <= now() - least($4 * power(2, m.refusals), $5) * interval '1 millisecond' for update of m)
     update minted_credentials m set due_at = least(m.due_at, now()),
       refused_serial = case when found.was_due then m.refused_serial else m.serial end
     from found
     where m.connector_id = found.connector_id
     returning found.name as connector, found.was_due as "wasDue"`,
    [connectorId, gatewayId, serial, MIN_AGE_MS, MAX_MIN_AGE_MS],
  )
  return rows[0] ?? null
}

/**
 * Returns the number of the current credential of a Connector that serves the Gateway; null when there is no such
 * credential.
 */
export async function serialAt(q: Query, { connectorId, gatewayId }: AtGateway): Promise<number | null> {
  const { rows } = await q.query<{ serial: number }>(
    `select m.serial::float8 as serial from minted_credentials m, connectors c
     where ${IS_AT_GATEWAY} and m.secret is not null`,
    [connectorId, gatewayId],
  )
  return rows[0]?.serial ?? null
}
