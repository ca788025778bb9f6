import { killReason } from '../../../../core/decision/kill-switch/kill-switch.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import type { SlidingWindow } from '../../../../core/state/sliding-window.ts'
import { claimProblem, TOKEN_ERRORS, type TokenClaims, type TokenProblem } from '../../../../core/token.ts'
import type { VerifyReply } from '../../../../core/wire/v1.ts'
import type { Db } from '../../../db/query.ts'
import type { ActionKillChecks } from '../cancellation/kill-checks.ts'
import { getAction } from '../rows.ts'
import type { Spent } from './nonce-store.ts'
import type { Tokens } from './service.ts'

export type VerificationDeps = {
  readonly db: Db
  readonly orgId: string
  readonly tokens: Tokens
  readonly killChecks: ActionKillChecks
  /** Counts failed verifications per address of the caller. */
  readonly failures: { hit(address: string): Taken }
}

export type Verification = {
  /**
   * Verifies the token and spends its nonce when the token is valid. Throws `rate_limited` when the address has too
   * many failed verifications.
   */
  verify(given: {
    readonly token: string
    readonly actionRequestId: string
    readonly address: string
  }): Promise<VerifyReply>
}

type Taken = ReturnType<SlidingWindow['take']>

export function createVerification(deps: VerificationDeps): Verification {
  const { orgId, tokens, failures } = deps

  async function problemOf(claims: TokenClaims, act: string): Promise<string | null> {
    const problem = claimProblem(claims, { org: orgId, act })
    if (problem !== null) return TOKEN_ERRORS[problem]
    if (deps.killChecks.isAnything()) {
      const refusedBecause = await refusalReason(deps, claims)
      if (refusedBecause !== null) return refusedBecause
    }
    const spent = await tokens.spend({ jti: claims.jti, actId: act, usedBy: 'verify' })
    return spent === 'spent' ? null : TOKEN_ERRORS[PROBLEM[spent]]
  }

  return {
    async verify({ token, actionRequestId, address }) {
      const read = await tokens.read(token)
      const error = typeof read === 'string' ? TOKEN_ERRORS[read] : await problemOf(read, actionRequestId)
      if (typeof read !== 'string' && error === null) {
        const { sub, org, act, ash } = read
        return { valid: true, payload: { sub, org, act, ash } }
      }
      countFailure(failures.hit(address))
      return { valid: false, error: error ?? TOKEN_ERRORS.malformed }
    },
  }
}

const PROBLEM: Readonly<Record<Exclude<Spent, 'spent'>, TokenProblem>> = {
  used: 'used',
  expired: 'expired',
  // A deleted nonce is unknown. Nonces are deleted long after their expiry, so the reason is `expired`.
  unknown: 'expired',
}

/**
 * Returns the reason to refuse the token: its action is unknown or expired, the token was used, or a kill switch
 * covers the action. Returns null when no reason applies. Does not spend the nonce.
 */
async function refusalReason(
  { db, killChecks }: VerificationDeps,
  claims: TokenClaims,
): Promise<string | null> {
  const row = await getAction(db, claims.act)
  if (row === undefined || row.isExpired) return TOKEN_ERRORS.expired
  if (row.usedBy !== null) return TOKEN_ERRORS.used
  const entry = killChecks.of(row)
  return entry === null ? null : killReason(entry)
}

function countFailure(taken: Taken): void {
  if (taken.ok) return
  throw new ChaperoneError('rate_limited', {
    error: 'Rate limit exceeded',
    detail: `Too many tokens from this address failed within a minute. Try again in ${taken.retryAfterS} s.`,
    retryAfterS: taken.retryAfterS,
    // The body of this response has exactly the fields of the specification, so `message` is omitted.
    extra: { message: undefined },
  })
}
