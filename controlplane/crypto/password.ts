import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { ChaperoneError } from '../../core/errors.ts'
import { createFairQueue } from '../fair-queue.ts'

/** About 60 ms and 32 MiB on a small machine; stored with each hash, so that it can rise later. */
const COST: PasswordCost = { N: 2 ** 15, r: 8, p: 1 }
const KEY_BYTES = 32

/**
 * Hashes run in the thread pool that opening a database connection needs too: no more at once than leave it room,
 * and no more waiting than are done in a few seconds.
 */
const AT_ONCE = 2
const MAX_WAITING = 150

/** Parameters of scrypt (RFC 7914). */
export type PasswordCost = { readonly N: number; readonly r: number; readonly p: number }

/** `turn`: whose password it is, or where the caller comes from. Callers take turns by it. */
export type Passwords = {
  /** `scrypt$N$r$p$salt$hash`, salt and hash base64. Throws `rate_limited` when too many wait. */
  hash(password: string, turn: string): Promise<string>
  /**
   * Whether the password is the one of the hash. `undefined` (no such user) takes as long as a wrong password and is
   * false, so that the time of the answer does not tell who has an account. Throws `rate_limited` when too many wait.
   */
  verify(password: string, stored: string | undefined, turn: string): Promise<boolean>
}

/** `cost` is that of new hashes, and of an attempt without a user. */
export function createPasswords(cost = COST): Passwords {
  const inTurn = createFairQueue({ atOnce: AT_ONCE, limit: { waiting: MAX_WAITING, full: tooBusy } })
  const nobody = format(cost, Buffer.alloc(16), Buffer.alloc(KEY_BYTES))
  return {
    hash: (password, turn) => inTurn(turn, () => hashPassword(password, cost)),
    verify: (password, stored, turn) => inTurn(turn, () => verifyPassword(password, stored, nobody)),
  }
}

async function hashPassword(password: string, cost: PasswordCost): Promise<string> {
  const salt = randomBytes(16)
  return format(cost, salt, await derive(password, salt, cost))
}

function format({ N, r, p }: PasswordCost, salt: Buffer, key: Buffer): string {
  return ['scrypt', N, r, p, salt.toString('base64'), key.toString('base64')].join('$')
}

async function verifyPassword(
  password: string,
  stored: string | undefined,
  nobody: string,
): Promise<boolean> {
  const [scheme, n, r, p, salt, hash] = (stored ?? nobody).split('$')
  if (scheme !== 'scrypt' || salt === undefined || hash === undefined)
    throw new Error('unknown password hash')
  const expected = Buffer.from(hash, 'base64')
  const actual = await derive(password, Buffer.from(salt, 'base64'), {
    N: Number(n),
    r: Number(r),
    p: Number(p),
  })
  return timingSafeEqual(actual, expected) && stored !== undefined
}

function derive(password: string, salt: Buffer, cost: PasswordCost): Promise<Buffer> {
  const options: ScryptOptions = { ...cost, maxmem: 256 * cost.N * cost.r }
  return new Promise((resolve, reject) => {
    // NFKC: the same password typed on another keyboard or system is the same bytes.
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}

function tooBusy(): ChaperoneError {
  return new ChaperoneError('rate_limited', {
    error: 'Rate limit exceeded',
    detail: 'Too many people sign in or register at this moment: try again in a few seconds',
    retryAfterS: 5,
  })
}
