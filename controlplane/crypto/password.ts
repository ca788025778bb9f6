import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { ChaperoneError } from '../../core/errors.ts'
import { createFairQueue } from '../fair-queue.ts'

/**
 * Cost of new hashes: about 60 ms and 32 MiB of memory on a small machine. Each hash stores its cost, so that the cost
 * of new hashes can be raised later.
 */
const COST: PasswordCost = { N: 2 ** 15, r: 8, p: 1 }
const KEY_BYTES = 32

/**
 * Maximum number of concurrent hashes. Hashes run in the thread pool of libuv, which DNS queries for database
 * connections also use. The maximum leaves threads for these queries. `MAX_QUEUED` limits the queue, so that a call
 * waits for a few seconds at most.
 */
const CONCURRENCY = 2
const MAX_QUEUED = 150

/** Cost parameters of scrypt (RFC 7914). */
export type PasswordCost = { readonly N: number; readonly r: number; readonly p: number }

/**
 * Hashes and verifies passwords. `turn` names the queue of a call, for example the queue of one user, of one device,
 * or of one client network (IPv4 address or IPv6 /64 prefix). The queues are served round-robin.
 */
export type Passwords = {
  /**
   * Returns `scrypt$N$r$p$salt$hash`, with salt and hash in base64. Rejects with `rate_limited` when the queue is full.
   */
  hash(password: string, turn: string): Promise<string>
  /**
   * Verifies a password. `stored`: undefined when the user is unknown. In this case, the verification takes
   * as long as for a wrong password and resolves to false, so that the response time does not show whether an
   * account exists. Rejects with `rate_limited` when the queue is full.
   */
  verify(password: string, stored: string | undefined, turn: string): Promise<boolean>
}

/**
 * Creates the functions that hash and verify passwords.
 *
 * @param cost Cost of new hashes, and of verifications for unknown users.
 */
export function createPasswords(cost = COST): Passwords {
  const inTurn = createFairQueue({ atOnce: CONCURRENCY, limit: { waiting: MAX_QUEUED, full: tooBusy } })
  const dummyHash = format(cost, Buffer.alloc(16), Buffer.alloc(KEY_BYTES))
  return {
    hash: (password, turn) => inTurn(turn, () => hashPassword(password, cost)),
    verify: (password, stored, turn) => inTurn(turn, () => verifyPassword(password, stored, dummyHash)),
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
  dummyHash: string,
): Promise<boolean> {
  const [scheme, n, r, p, salt, hash] = (stored ?? dummyHash).split('$')
  if (scheme !== 'scrypt' || salt === undefined || hash === undefined)
    throw new Error(
      'The format of a stored password hash is unknown: a later version wrote it, or the row is damaged. Set a new password with chaperone user reset-password.',
    )
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
    // Normalises the password to NFKC, because keyboards and operating systems encode the same character differently.
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}

function tooBusy(): ChaperoneError {
  return new ChaperoneError('rate_limited', {
    error: 'Rate limit exceeded',
    detail: 'Too many users are signing in or registering. Try again in a few seconds.',
    retryAfterS: 5,
  })
}
