import type { Logger } from 'pino'
import { hasLocalSource } from '../../../../core/crd/credential-spec.ts'
import type { Keyring } from '../../../crypto/keyring.ts'
import type { Sealed } from '../../../crypto/sealed.ts'
import { sealedPlace } from '../../../crypto/sealed-places.ts'
import { bumpVersion, CHANGES_CHANNEL } from '../../../db/config-version.ts'
import type { Db } from '../../../db/query.ts'
import { systemActor } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/events.ts'
import { type ConnectorRow, listConnectors } from '../../connectors/rows.ts'
import { createRereads, type Rereads } from '../local/rereads.ts'
import { hasMinted, listMinted, type MintedRow, sourceHash } from '../rows.ts'
import { type Mint, MintError, type Minted, type MintRequest } from './mint.ts'
import { claimMinted, storeMinted, storeMintFailure } from './store.ts'
import { MIN_LIFETIME_MS, retryDelayMs, timesOf, timesWithoutExpiry } from './times.ts'
import { untilStored } from './until-stored.ts'

export type RefresherDeps = {
  readonly db: Db
  readonly orgId: string
  readonly keyring: Keyring
  readonly log: Logger
  readonly mint: Mint
  /** Returns a number from 0 to below 1. */
  readonly random: () => number
}

/**
 * Mints the short-lived secrets of Connectors before they expire. Each replica runs one refresher; a claim in the
 * database ensures that only one replica at a time exchanges a secret.
 */
export type Refresher = AsyncDisposable

/** Milliseconds between two reads of the database when no exchange is due earlier and no Connector changes. */
const IDLE_MS = 30_000
/** Minimum time in milliseconds between two reads of the database. */
const BUSY_MS = 100
/** Milliseconds until the next read of the database after an unexpected error, or after an exchange was started. */
const RETRY_MS = 1_000
const TOO_SHORT =
  'The source issued a token that is valid for less than 1 s. Raise the lifetime of its tokens, and compare the clock of the source with that of the control plane.'
/**
 * Message for a failure whose own message may contain parts of a secret, and which gateways and pages must therefore
 * not show.
 */
const UNEXPECTED =
  'The control plane could not exchange the stored secret. Its log has the reason. The exchange is tried again.'
const UNREADABLE =
  'The stored secret cannot be decrypted with the master key of this installation. Store the secret again.'
const ACTOR = systemActor('installation')

export async function createRefresher(deps: RefresherDeps): Promise<Refresher> {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  let isWoken = false
  let isDisposed = false
  /**
   * Exchanges in flight, by the id of the Connector. A read of the database does not wait for them, so a slow source
   * delays no other source.
   */
  const exchanges = new Map<string, Promise<void>>()
  const disposal = new AbortController()

  function run(): void {
    if (running !== null || isDisposed) return
    isWoken = false
    running = refreshDue(deps, { start, reread })
      .catch((error: unknown) => {
        logFailure(error)
        return RETRY_MS
      })
      .then((waitMs) => {
        running = null
        schedule(isWoken ? BUSY_MS : waitMs)
      })
  }

  function start(connector: ConnectorRow, source: Source): void {
    const { id } = connector
    if (exchanges.has(id) || isDisposed) return
    const exchange = refreshOne(deps, { connector, source, reread, disposed: disposal.signal })
      .then(() => {
        isWoken = true
        if (running === null) schedule(BUSY_MS)
      }, logFailure)
      .finally(() => exchanges.delete(id))
    exchanges.set(id, exchange)
  }

  function schedule(waitMs: number): void {
    clearTimeout(timer)
    if (!isDisposed) timer = setTimeout(run, Math.min(IDLE_MS, Math.max(BUSY_MS, waitMs)))
  }

  function logFailure(error: unknown): void {
    deps.log.error({ err: error }, 'short-lived credentials could not be refreshed')
  }

  const wake = (): void => {
    isWoken = true
    run()
  }
  const reread = createRereads(wake)
  const changes = await deps.db.listen(CHANGES_CHANNEL, wake)
  run()
  return {
    async [Symbol.asyncDispose]() {
      isDisposed = true
      disposal.abort()
      clearTimeout(timer)
      reread[Symbol.dispose]()
      await changes[Symbol.asyncDispose]()
      await running
      await Promise.all(exchanges.values())
    },
  }
}

type Refreshing = {
  readonly start: (connector: ConnectorRow, source: Source) => void
  readonly reread: Rereads
}

/** Starts the exchange of every secret that is due. Returns the milliseconds until the next exchange is due. */
async function refreshDue({ db, keyring }: RefresherDeps, { start, reread }: Refreshing): Promise<number> {
  const connectors = (await listConnectors(db)).filter((row) => hasMinted(row) && row.credential !== null)
  reread.follow(connectors)
  if (connectors.length === 0) return IDLE_MS
  const minted = await listMinted(db)
  const waits = connectors.map((connector) => {
    // The first poll of the file wakes the refresher.
    if (reread.isPending(connector)) return IDLE_MS
    const source = sourceOf(keyring, connector)
    const row = minted.get(connector.id)
    const isCurrent = row?.sourceHash === source.hash && row.dueInMs > 0 && !reread.isDue(connector.id)
    if (isCurrent) return row.dueInMs
    // Another exchange of the secret is in flight. The refresher checks again when its claim expires.
    if (row !== undefined && row.claimedMs > 0) return row.claimedMs
    start(connector, source)
    return RETRY_MS
  })
  return Math.min(...waits)
}

/** `secret`: null when the stored secret cannot be decrypted. `hash`: changes with the specification and the secret. */
type Source = { readonly secret: string | null; readonly hash: string }

function sourceOf(keyring: Keyring, { id, credential, spec }: ConnectorRow): Source {
  if (credential === null) throw new Error(`the connector ${id} has no stored credential`)
  const secret = opened(keyring, credential, id)
  // For a secret that cannot be decrypted, the hash covers its encrypted form. The hash then changes when the secret is
  // stored again, which ends the back-off.
  return { secret, hash: sourceHash(keyring, spec.credential, secret ?? JSON.stringify(credential)) }
}

function opened(keyring: Keyring, sealed: Sealed, place: string): string | null {
  try {
    return keyring.open(sealed, place)
  } catch {
    return null
  }
}

type Refresh = Pick<Refreshing, 'reread'> & {
  readonly connector: ConnectorRow
  readonly source: Source
  readonly disposed: AbortSignal
}

async function refreshOne(
  deps: RefresherDeps,
  { connector, source, reread, disposed }: Refresh,
): Promise<void> {
  const { db, orgId, mint, keyring } = deps
  const isForced = reread.isDue(connector.id)
  const place = { connectorId: connector.id, orgId, sourceHash: source.hash, isForced }
  const row = await db.tx((q) => claimMinted(q, place))
  if (row === null) return
  // Must precede the read of the source, because a change during the read requires another read.
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
 * Returns the minted secret if its lifetime is at least `MIN_LIFETIME_MS` or unlimited. Throws a `MintError` for a
 * shorter lifetime or NaN.
 */
function validOf(minted: Minted): Minted {
  if (minted.lifetimeMs === null || minted.lifetimeMs >= MIN_LIFETIME_MS) return minted
  throw new MintError(TOO_SHORT, { rotated: minted.rotated })
}

/** Logs the error of an exchange, and returns the failure to store. */
function failedOf({ log }: RefresherDeps, claimed: Claimed, error: unknown): Failed {
  const isKnown = error instanceof MintError
  const reason = isKnown ? error.message : UNEXPECTED
  const detail = isKnown ? {} : { err: error }
  log.warn({ connector: claimed.connector.name, reason, ...detail }, 'a credential could not be refreshed')
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
  /** Monotonic time in milliseconds of the call of the source, from which the lifetime of the secret counts. */
  readonly sinceMs: number
}

async function storeSuccess(
  { db, orgId, keyring, random }: RefresherDeps,
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
      const details = { change: 'credential.minted', connector: name, serial, expires_at: expires }
      await recordEvent(q, { orgId, actor: ACTOR, type: 'gateway.updated', manifest: name, details })
    }
    // No new version when a source without an expiry returned the same secret again: gateways and pages show no change.
    if (isNew || expires !== null || row.error !== null) await bumpVersion(q)
  })
}

/** Reports whether an environment variable, file or command returned the same secret as before. */
function isSameReading(keyring: Keyring, { connector, source, row }: Claimed, secret: string): boolean {
  const { credential } = connector.spec
  const isRead =
    hasLocalSource(credential) && credential?.oauth2 === undefined && credential?.githubApp === undefined
  if (!isRead || row.secret === null || row.sourceHash !== source.hash) return false
  return opened(keyring, row.secret, sealedPlace.minted(connector.id, 'secret')) === secret
}

type Failed = Claimed & { readonly error: string; readonly rotated: string | null }

async function storeFailure(
  { db, orgId, keyring, random }: RefresherDeps,
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
