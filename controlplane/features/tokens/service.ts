import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { type ActionSpec, canonicalJson } from '../../../core/action/spec.ts'
import { base62 } from '../../../core/ids.ts'
import {
  readToken,
  TOKEN_AUDIENCE,
  TOKEN_ISSUER,
  TOKEN_LIFE_S,
  type TokenClaims,
  type TokenProblem,
  tokenHeader,
} from '../../../core/token.ts'
import { createBatcher } from '../../batcher.ts'
import { pooledRandom } from '../../crypto/random.ts'
import type { SigningKey } from '../../crypto/signing-keys.ts'
import type { Db } from '../../db/query.ts'
import { isAnswerLost, isUnavailable } from '../../db/unavailable.ts'
import type { ActionRow } from '../actions/store.ts'
import type { TokenKeys } from './keys.ts'
import { type Spending, type Spent, spendNonces } from './nonce-store.ts'

/** Subject of a token; the database adds the times. */
export type TokenSubject = {
  readonly id: string
  readonly orgId: string
  readonly agentId: string
  readonly spec: ActionSpec
}
export type TokenSeed = { readonly jti: string; readonly kid: string }

export type Tokens = {
  /** Returns a nonce and the id of the signing key, to be stored with the action before its token is signed. */
  newSeed(): TokenSeed
  /**
   * Signs the stored values; the bytes of the token are always the same. Null when the key no longer exists. `issuedAt`
   * in epoch seconds.
   */
  signed(subject: TokenSubject, seed: TokenSeed, issuedAt: number): Promise<string | null>
  /** Returns the token of an action in its present state: null unless it is allowed, unused and not expired. */
  of(row: ActionRow): Promise<string | null>
  /**
   * Returns the claims of a token with a valid signature, else the problem. Rejects malformed tokens before any
   * cryptography. Does not use the nonce.
   */
  read(token: string): Promise<TokenClaims | TokenProblem>
  /** Spends the nonce, at most once. One statement spends all nonces that are queued during the previous one. */
  spend(spending: Spending): Promise<Spent>
  ashOf(spec: ActionSpec): string
}

const MAX_SPENT_AT_ONCE = 256
const USE_BYTES = 12
/** Milliseconds for which a use with a lost answer is repeated: longer than a restart of the database. */
const LOST_ANSWER_MS = 5_000
const LOST_ANSWER_PAUSE_MS = 100

export function createTokens({ db, keys }: { readonly db: Db; readonly keys: TokenKeys }): Tokens {
  const publicKeys = new WeakMap<SigningKey, KeyObject>()
  const publicKeyOf = (key: SigningKey): KeyObject => {
    const made = publicKeys.get(key) ?? createPublicKey(key.privateKey)
    publicKeys.set(key, made)
    return made
  }
  const together = createBatcher((list: readonly Spending[]) => spendAll(db, list), {
    max: MAX_SPENT_AT_ONCE,
    atOnce: 2,
  })

  async function signed(
    subject: TokenSubject,
    { jti, kid }: TokenSeed,
    issuedAt: number,
  ): Promise<string | null> {
    const key = await keys.find(kid)
    if (key === undefined) return null
    const claims: TokenClaims = {
      iss: TOKEN_ISSUER,
      aud: TOKEN_AUDIENCE,
      sub: subject.agentId,
      org: subject.orgId,
      act: subject.id,
      ash: ashOf(subject.spec),
      jti,
      iat: issuedAt,
      exp: issuedAt + TOKEN_LIFE_S,
    }
    return compact(claims, key)
  }

  return {
    newSeed: () => ({ jti: base62(pooledRandom(22)), kid: keys.current().kid }),
    signed,
    async of(row) {
      const { status, jti, kid, issuedAt, usedBy, isExpired } = row
      if (status !== 'allowed' || usedBy !== null || isExpired) return null
      return jti === null || kid === null || issuedAt === null ? null : signed(row, { jti, kid }, issuedAt)
    },
    async read(token) {
      const read = readToken(token)
      if (typeof read === 'string') return read
      const key = await keys.find(read.kid)
      if (key === undefined) return 'signature'
      const signature = Buffer.from(read.signature, 'base64url')
      return verify(null, Buffer.from(read.signed), publicKeyOf(key), signature) ? read.claims : 'signature'
    },
    spend: (spending) => together({ ...spending, use: base62(pooledRandom(USE_BYTES)) }),
    ashOf,
  }
}

/** Returns the hex SHA-256 of the RFC 8785 JSON. */
function ashOf(spec: ActionSpec): string {
  return createHash('sha256').update(canonicalJson(spec)).digest('hex')
}

/**
 * Returns a compact JWS (RFC 7515). Ed25519 is deterministic: the same claims give the same token. `node:crypto` signs
 * in the calling thread, for a third of the CPU time of signing with `jose` (`test/bench/dependency-costs.ts`).
 */
function compact(claims: TokenClaims, key: SigningKey): string {
  const signed = `${segment(tokenHeader(key.kid))}.${segment(claims)}`
  return `${signed}.${sign(null, Buffer.from(signed), key.privateKey).toString('base64url')}`
}

function segment(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Spends nonces. Of several uses of the same nonce in one batch, only the first one spends it. */
async function spendAll(db: Db, list: readonly Spending[]): Promise<readonly Spent[]> {
  const first = new Map<string, Spending>()
  for (const one of list) if (!first.has(one.jti)) first.set(one.jti, one)
  const outcomes = await spendSurely(db, [...first.values()])
  return list.map((one) => {
    const outcome = outcomes.get(one.jti) ?? 'unknown'
    return outcome === 'spent' && first.get(one.jti) !== one ? 'used' : outcome
  })
}

/**
 * Repeats a use whose answer was lost, under its own id, until the database returns its outcome. Otherwise the caller
 * that used the token would only ever receive "used".
 */
async function spendSurely(db: Db, list: readonly Spending[]): Promise<ReadonlyMap<string, Spent>> {
  const first = await asked(db, list)
  if (!isAnswerLost(first)) return orThrow(first)
  const until = performance.now() + LOST_ANSWER_MS
  let next: Asked = first
  while (isUnavailable(next) && performance.now() < until) {
    await wait(LOST_ANSWER_PAUSE_MS)
    next = await asked(db, list)
  }
  return orThrow(next)
}

type Asked = ReadonlyMap<string, Spent> | Error

const asked = (db: Db, list: readonly Spending[]): Promise<Asked> =>
  spendNonces(db, list).catch((error: Error) => error)

function orThrow(answer: Asked): ReadonlyMap<string, Spent> {
  if (answer instanceof Error) throw answer
  return answer
}
