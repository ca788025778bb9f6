import type { Logger } from 'pino'
import { permissionNeed } from '../../../../../core/connectors/codehost/token-need.ts'
import { scopeNeed } from '../../../../../core/connectors/credentials/scope-need.ts'
import { type TokenNeed, tokenNeedKey } from '../../../../../core/connectors/credentials/token-need.ts'
import type {
  NarrowedToken,
  NarrowedTokenBody,
  NarrowedTokenReply,
} from '../../../../../core/wire/gateway/narrowed-token.ts'
import type { Keyring } from '../../../../crypto/keyring.ts'
import type { Db, Query } from '../../../../db/query.ts'
import { systemActor } from '../../../audit/actor.ts'
import { recordEvent } from '../../../audit/events.ts'
import { type ConnectorRow, getConnector } from '../../../connectors/rows.ts'
import { getMinted, hasMinted, isNarrowed, mintedKind, sourceHash } from '../../rows.ts'
import { MintError } from '../mint.ts'
import { MIN_LIFETIME_MS, timesOf } from '../times.ts'
import type { NarrowMint } from './github-app.ts'
import { createScopeCache, type ScopeCache } from './scope-cache.ts'

export type NarrowedTokensDeps = {
  readonly db: Db
  readonly orgId: string
  readonly keyring: Keyring
  readonly log: Pick<Logger, 'warn'>
  readonly mint: NarrowMint
  readonly newTokenId: () => string
  readonly clock: { nowMs(): number; monotonicMs(): number }
}

type Gateway = { readonly id: string; readonly name: string }

/**
 * Issues tokens that are narrowed to the actions of a request. Tokens are cached in the memory of this replica only.
 */
export type NarrowedTokens = {
  /**
   * Returns a token for the actions, from the cache or from the source. The reply is `unavailable` when the source
   * fails, and when the Connector does not serve the Gateway.
   */
  get(gateway: Gateway, body: NarrowedTokenBody): Promise<NarrowedTokenReply>
  /** Returns the number of cached tokens of this replica by the name of the Connector. */
  counts(): ReadonlyMap<string, number>
}

/**
 * Milliseconds for which a gateway uses the token of the Connector for actions that have no narrowed token, before
 * the gateway requests a narrowed token again.
 */
const WHOLE_MS = 300_000
const NOT_HERE =
  'The Connector no longer exists at this gateway, or no longer limits its tokens to single requests. Send the request again.'
const UNREADABLE =
  'The stored secret cannot be decrypted with the master key of this installation. Store the secret again.'
const UNEXPECTED =
  'The control plane could not mint a token from the stored secret. Its log has the reason. Send the request again later.'
const TOO_SHORT =
  'The source issued a token that is valid for less than 1 s. Raise the lifetime of its tokens, and compare the clock of the source with that of the control plane.'
const ACTOR = systemActor('installation')

export function createNarrowedTokens(deps: NarrowedTokensDeps): NarrowedTokens {
  const { db, keyring, clock } = deps
  const cache: ScopeCache<NarrowedTokenReply> = createScopeCache(clock.monotonicMs)
  return {
    counts: cache.counts,
    async get(gateway, body) {
      const row = await getConnector(db, body.connector_id)
      if (row === undefined || !isNarrowedAt(row, gateway.id)) return unavailable(NOT_HERE)
      const need = needOf(row, body)
      if (typeof need === 'string') return whole(need)
      const secret = openedSecret(keyring, row)
      if (secret === null) return unavailable(UNREADABLE)
      const source = { secret, hash: sourceHash(keyring, row.spec.credential, secret) }
      const minted = await getMinted(db, row.id)
      const isSame = minted?.sourceHash === source.hash
      const serial = isSame ? minted.serial : 0
      const key = JSON.stringify([source.hash, serial, tokenNeedKey(need)])
      return cache.get({ connector: row, key }, () =>
        // After a failed minting of the Connector's own token, no narrowed token is requested, even if the source would
        // issue one. Otherwise the reply would depend on the time since the failed minting.
        isSame && minted.error !== null
          ? Promise.resolve({ reply: unavailable(minted.error), keepMs: 0 })
          : mintOne(deps, { row, source, serial, need, gateway }),
      )
    },
  }
}

/** Reports whether the Connector serves the Gateway and has narrowed tokens. */
function isNarrowedAt(row: ConnectorRow, gatewayId: string): boolean {
  const { gatewayIds, credential } = row
  const isServed = gatewayIds.length === 0 || gatewayIds.includes(gatewayId)
  return isServed && credential !== null && hasMinted(row) && isNarrowed(row)
}

function needOf(
  { spec }: ConnectorRow,
  { actions, reads_more: readsMore }: NarrowedTokenBody,
): TokenNeed | string {
  const { oauth2 } = spec.credential ?? {}
  const need =
    oauth2 === undefined ? permissionNeed(actions, readsMore) : scopeNeed(actions, oauth2.scopesByAction)
  return typeof need === 'string'
    ? `It is not known which permissions ${need} needs, so its requests are sent with the token of the Connector, which is not limited to single requests.`
    : need
}

function openedSecret(keyring: Keyring, { id, credential }: ConnectorRow): string | null {
  try {
    return credential === null ? null : keyring.open(credential, id)
  } catch {
    return null
  }
}

function unavailable(reason: string): NarrowedTokenReply {
  return { outcome: 'unavailable', reason }
}

function whole(reason: string): NarrowedTokenReply {
  return { outcome: 'whole', reason, valid_ms: WHOLE_MS }
}

type One = {
  readonly row: ConnectorRow
  readonly source: { readonly secret: string; readonly hash: string }
  readonly serial: number
  readonly need: TokenNeed
  readonly gateway: Gateway
}

type Kept = { readonly reply: NarrowedTokenReply; readonly keepMs: number }

async function mintOne(deps: NarrowedTokensDeps, one: One): Promise<Kept> {
  const { mint, clock, log } = deps
  const { row, source, need } = one
  const sinceMs = clock.monotonicMs()
  try {
    if (row.spec.credential === undefined) throw new MintError(NOT_HERE)
    const minted = await mint({
      credential: row.spec.credential,
      secret: source.secret,
      need,
      sourceHash: source.hash,
      connector: row.name,
      source: row.source === 'kubernetes' ? 'kubernetes' : 'file',
    })
    const lifetimeMs = minted.lifetimeMs - (clock.monotonicMs() - sinceMs)
    // The negated comparison also refuses NaN.
    if (!(lifetimeMs >= MIN_LIFETIME_MS)) throw new MintError(TOO_SHORT)
    // Schedules the replacement as late as possible (`random` 1). The times need no random spread, because requests
    // cause the replacements.
    const { expiresInMs, dueInMs } = timesOf(lifetimeMs, 1)
    const token: NarrowedToken = {
      id: deps.newTokenId(),
      secret: minted.secret,
      serial: one.serial,
      source: source.hash,
      scope: [...minted.scope],
      expires_at: new Date(clock.nowMs() + expiresInMs).toISOString(),
    }
    await audit(deps.db, deps.orgId, one, token)
    return { reply: { outcome: 'issued', token }, keepMs: dueInMs }
  } catch (error) {
    const reason = error instanceof MintError ? error.message : UNEXPECTED
    const detail = error instanceof MintError ? {} : { err: error }
    log.warn(
      { connector: row.name, reason, ...detail },
      'could not get a token that is limited to one request, trying again with the next request',
    )
    return { reply: unavailable(reason), keepMs: 0 }
  }
}

/** Records the audit event of the issued token, without its secret. */
async function audit(q: Query, orgId: string, { row, gateway }: One, token: NarrowedToken): Promise<void> {
  const { id, serial, scope, expires_at } = token
  const details = {
    change: 'credential.narrowed',
    connector: row.name,
    gateway: gateway.name,
    credential: id,
    serial,
    source: mintedKind(row),
    scope,
    expires_at,
  }
  await recordEvent(q, { orgId, actor: ACTOR, type: 'gateway.updated', manifest: row.name, details })
}
