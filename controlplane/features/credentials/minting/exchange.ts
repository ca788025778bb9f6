import type { Logger } from 'pino'
import { hasLocalSource } from '../../../../core/crd/credentials/credential-spec.ts'
import type { Keyring } from '../../../crypto/keyring.ts'
import type { Sealed } from '../../../crypto/sealed.ts'
import { sealedPlace } from '../../../crypto/sealed-places.ts'
import { bumpVersion } from '../../../db/config-version.ts'
import type { Db } from '../../../db/query.ts'
import { systemActor } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/events.ts'
import type { ConnectorRow } from '../../connectors/rows.ts'
import type { Rereads } from '../local/rereads.ts'
import { type MintedRow, mintedKind, sourceHash, statedScope } from '../rows.ts'
import { type Mint, MintError, type Minted, type MintRequest } from './mint.ts'
import { claimMinted, storeMinted, storeMintFailure } from './store.ts'
import { MIN_LIFETIME_MS, retryDelayMs, timesOf, timesWithoutExpiry } from './times.ts'
import { untilStored } from './until-stored.ts'

export type ExchangeDeps = {
  readonly db: Db
  readonly orgId: string
  readonly keyring: Keyring
  readonly log: Logger
  readonly mint: Mint
  /** Returns a number from 0 to below 1. */
  readonly random: () => number
}

const TOO_SHORT =
  'The source issued a token that is valid for less than 1 s. Raise the lifetime of its tokens, and compare the clock of the source with that of the control plane.'
/**
 * Shown by gateways and pages in place of the message of an unexpected error, because that message may contain parts of
 * a secret.
 */
const UNEXPECTED =
  'The control plane could not mint a token from the stored secret. Its log has the reason. Minting is tried again.'
const UNREADABLE =
  'The stored secret cannot be decrypted with the master key of this installation. Store the secret again.'
const ACTOR = systemActor('installation')

/**
 * Stored credential of a Connector and its hash. `secret`: null when the credential cannot be decrypted. `hash`:
 * changes with the specification and the credential.
 */
export type Source = { readonly secret: string | null; readonly hash: string }

export function sourceOf(keyring: Keyring, { id, credential, spec }: ConnectorRow): Source {
  if (credential === null) throw new Error(`the connector ${id} has no stored credential`)
  const secret = opened(keyring, credential, id)
  // For a credential that cannot be decrypted, the hash covers its encrypted form. The hash then changes when the
  // credential is stored again, which ends the back-off.
  return { secret, hash: sourceHash(keyring, spec.credential, secret ?? JSON.stringify(credential)) }
}

function opened(keyring: Keyring, sealed: Sealed, place: string): string | null {
  try {
    return keyring.open(sealed, place)
  } catch {
    return null
  }
}

type Exchange = {
  readonly reread: Pick<Rereads, 'isDue' | 'done'>
  readonly connector: ConnectorRow
  readonly source: Source
  readonly disposed: AbortSignal
}

/**
 * Mints a short-lived credential from the stored credential of a Connector, and stores the short-lived credential or
 * the failure. Does nothing when another replica has claimed the minting.
 */
export async function exchangeSecret(
  deps: ExchangeDeps,
  { connector, source, reread, disposed }: Exchange,
): Promise<void> {
  const { db, orgId, mint, keyring } = deps
  const isForced = reread.isDue(connector.id)
  const place = { connectorId: connector.id, orgId, sourceHash: source.hash, isForced }
  const row = await db.tx((q) => claimMinted(q, place))
  if (row === null) return
  // `done` must be called before the source is read, because a change during the read requires another read.
  reread.done(connector.id)
  const claimed = { connector, source, row }
  const sinceMs = performance.now()
  try {
    const minted = validOf(await mint(requestOf(keyring, claimed)))
    const write = () => storeSuccess(deps, { ...claimed, minted, sinceMs })
    await untilStored(write, { rotated: minted.rotated, disposed })
  } catch (error) {
    const failed = failedOf(deps, claimed, error)
    await untilStored(() => storeFailure(deps, failed), { rotated: failed.rotated, disposed })
  }
}

/**
 * Returns the minted credential if its lifetime is at least `MIN_LIFETIME_MS` or unlimited. Throws a `MintError` for a
 * shorter lifetime or NaN.
 */
function validOf(minted: Minted): Minted {
  if (minted.lifetimeMs === null || minted.lifetimeMs >= MIN_LIFETIME_MS) return minted
  throw new MintError(TOO_SHORT, { rotated: minted.rotated })
}

/** Logs the error of a failed minting, and returns the failure to store. */
function failedOf({ log }: ExchangeDeps, claimed: Claimed, error: unknown): Failed {
  const isKnown = error instanceof MintError
  const reason = isKnown ? error.message : UNEXPECTED
  const detail = isKnown ? {} : { err: error }
  log.warn(
    { connector: claimed.connector.name, reason, ...detail },
    'the credential of a connector could not be refreshed, trying again',
  )
  return { ...claimed, error: reason, rotated: isKnown ? error.rotated : null }
}

type Claimed = { readonly connector: ConnectorRow; readonly source: Source; readonly row: MintedRow }

function requestOf(keyring: Keyring, { connector, source, row }: Claimed): MintRequest {
  const { id, spec } = connector
  if (spec.credential === undefined) throw new Error(`the connector ${id} has no credential`)
  if (source.secret === null) throw new MintError(UNREADABLE)
  const isSame = row.sourceHash === source.hash && row.rotated !== null
  return {
    credential: spec.credential,
    secret: source.secret,
    rotated:
      isSame && row.rotated !== null ? keyring.open(row.rotated, sealedPlace.minted(id, 'rotated')) : null,
    connector: connector.name,
    source: connector.source === 'kubernetes' ? 'kubernetes' : 'file',
  }
}

type Result = Claimed & {
  readonly minted: Minted
  /**
   * Monotonic time in milliseconds at which the source was called. The lifetime of the credential counts from this
   * time.
   */
  readonly sinceMs: number
}

async function storeSuccess(
  { db, orgId, keyring, random }: ExchangeDeps,
  { connector, source, row, minted, sinceMs }: Result,
): Promise<void> {
  const { id, name } = connector
  const { lifetimeMs } = minted
  const times =
    lifetimeMs === null
      ? timesWithoutExpiry(random())
      : timesOf(lifetimeMs - (performance.now() - sinceMs), random())
  await db.tx(async (q) => {
    const seal = (text: string, part: 'secret' | 'rotated') =>
      keyring.seal(text, sealedPlace.minted(id, part))
    const stored = await storeMinted(q, {
      ...times,
      connectorId: id,
      sourceHash: source.hash,
      claimed: row,
      secret: seal(minted.secret, 'secret'),
      rotated: minted.rotated === null ? null : seal(minted.rotated, 'rotated'),
      isSame: isSameReading(keyring, { connector, source, row }, minted.secret),
    })
    if (stored === null) return
    const { serial } = stored
    const isNew = serial !== row.serial
    const expires = stored.expiresAt?.toISOString() ?? null
    if (isNew) {
      const details = {
        change: 'credential.minted',
        connector: name,
        serial,
        expires_at: expires,
        source: mintedKind(connector),
        scope: statedScope(connector),
      }
      await recordEvent(q, { orgId, actor: ACTOR, type: 'gateway.updated', manifest: name, details })
    }
    // The version of the configuration does not rise when a source without an expiry returned the same credential
    // again, because nothing changes for gateways and pages.
    if (isNew || expires !== null || row.error !== null) await bumpVersion(q)
  })
}

/** Reports whether an environment variable, file or command returned the same credential as before. */
function isSameReading(keyring: Keyring, { connector, source, row }: Claimed, secret: string): boolean {
  const { credential } = connector.spec
  const isRead =
    hasLocalSource(credential) && credential?.oauth2 === undefined && credential?.githubApp === undefined
  if (!isRead || row.secret === null || row.sourceHash !== source.hash) return false
  return opened(keyring, row.secret, sealedPlace.minted(connector.id, 'secret')) === secret
}

type Failed = Claimed & { readonly error: string; readonly rotated: string | null }

async function storeFailure(
  { db, orgId, keyring, random }: ExchangeDeps,
  { connector: { id, name }, source, row, error, rotated }: Failed,
): Promise<void> {
  await db.tx(async (q) => {
    const isStored = await storeMintFailure(q, {
      connectorId: id,
      sourceHash: source.hash,
      claimed: row,
      error,
      dueInMs: retryDelayMs(row.failures, random()),
      rotated: rotated === null ? null : keyring.seal(rotated, sealedPlace.minted(id, 'rotated')),
    })
    if (!isStored) return
    // A repeated failure with the same text causes no new audit event and no new version of the configuration.
    if (row.error === error && row.sourceHash === source.hash) return
    const details = { change: 'credential.failed', connector: name, error }
    await recordEvent(q, { orgId, actor: ACTOR, type: 'gateway.updated', manifest: name, details })
    await bumpVersion(q)
  })
}
