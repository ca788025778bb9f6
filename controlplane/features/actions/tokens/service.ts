import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { type ActionSpec, canonicalJson } from '../../../../core/action/spec.ts'
import { base62 } from '../../../../core/ids.ts'
import {
  readToken,
  TOKEN_AUDIENCE,
  TOKEN_ISSUER,
  TOKEN_LIFE_S,
  type TokenClaims,
  type TokenProblem,
  tokenHeader,
} from '../../../../core/token.ts'
import { sha256Hex } from '../../../../runtime/sha256.ts'
import { sleep } from '../../../../runtime/sleep.ts'
import { createBatcher } from '../../../batcher.ts'
import { pooledRandom } from '../../../crypto/random.ts'
import { isAnswerLost, isUnavailable } from '../../../db/connection/unavailable.ts'
import type { Db } from '../../../db/query.ts'
import type { ActionRow } from '../rows.ts'
import type { TokenKeys } from './keys.ts'
import { type Spending, type Spent, spendNonces } from './nonce-store.ts'
import type { SigningKey } from './signing-keys.ts'

/** Action for which a token is signed. The database supplies the times of the token. */
export type TokenSubject = {
  readonly id: string
  readonly orgId: string
  readonly agentId: string
  readonly spec: ActionSpec
}
export type TokenSeed = { readonly jti: string; readonly kid: string }

export type Tokens = {
  /** Returns a nonce and the id of the signing key. Both must be stored with the action before its token is signed. */
  newSeed(): TokenSeed
  /**
   * Signs the stored values. The same values always give the same bytes. Resolves to null when the signing key no
   * longer exists. `issuedAt` is in Unix seconds.
   */
  signed(subject: TokenSubject, seed: TokenSeed, issuedAt: number): Promise<string | null>
  /**
   * Returns the current token of an action. Returns null unless the action is allowed and its token is neither used
   * nor expired.
   */
  of(row: ActionRow): Promise<string | null>
  /**
   * Returns the claims of a token with a valid signature, otherwise the problem. Rejects malformed tokens before it
   * verifies a signature. Does not spend the nonce.
   */
  read(token: string): Promise<TokenClaims | TokenProblem>
  /** Spends the nonce at most once. Uses that arrive during a statement are combined into the next statement. */
  spend(spending: Spending): Promise<Spent>
  ashOf(spec: ActionSpec): string
}

const MAX_SPENT_AT_ONCE = 256
const USE_BYTES = 12
/**
 * Milliseconds for which the use of a nonce is repeated after the answer of the database was lost. The limit exceeds
 * the duration of a database restart.
 */
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

/** Returns the SHA-256, in hex, of the canonical JSON (RFC 8785) of the action. */
function ashOf(spec: ActionSpec): string {
  return sha256Hex(canonicalJson(spec))
}

/**
 * Returns a compact JWS (RFC 7515). Ed25519 is deterministic, so the same claims give the same token. `node:crypto`
 * signs in the calling thread and needs a third of the CPU time of `jose` (`test/bench/dependency-costs.ts`).
 */
function compact(claims: TokenClaims, key: SigningKey): string {
  const signed = `${segment(tokenHeader(key.kid))}.${segment(claims)}`
  return `${signed}.${sign(null, Buffer.from(signed), key.privateKey).toString('base64url')}`
}

function segment(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Spends nonces. When a batch contains several uses of one nonce, only the first use spends the nonce. */
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
 * Uses nonces. When the answer of the database is lost, repeats the statement with the same use ids for up to
 * `LOST_ANSWER_MS`. Without the repetition, the caller whose use succeeded would only receive "used".
 */
async function spendSurely(db: Db, list: readonly Spending[]): Promise<ReadonlyMap<string, Spent>> {
  const first = await asked(db, list)
  if (!isAnswerLost(first)) return orThrow(first)
  const until = performance.now() + LOST_ANSWER_MS
  let next: Asked = first
  while (isUnavailable(next) && performance.now() < until) {
    await sleep(LOST_ANSWER_PAUSE_MS)
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
