import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'

/** About 60 ms and 32 MiB on a small machine; stored with each hash, so that it can rise later. */
const COST = { N: 2 ** 15, r: 8, p: 1 }
const KEY_BYTES = 32

/** `scrypt$N$r$p$salt$hash`, salt and hash base64. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const key = await derive(password, salt, COST)
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64'), key.toString('base64')].join('$')
}

/**
 * Whether the password is the one of the hash. `undefined` (no such user) takes as long as a wrong password and is
 * false, so that the time of the answer does not tell who has an account.
 */
export async function verifyPassword(password: string, stored: string | undefined): Promise<boolean> {
  const parts = (stored ?? NOBODY).split('$')
  const [scheme, n, r, p, salt, hash] = parts
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

const NOBODY = [
  'scrypt',
  COST.N,
  COST.r,
  COST.p,
  'AAAAAAAAAAAAAAAAAAAAAA==',
  Buffer.alloc(KEY_BYTES).toString('base64'),
].join('$')

function derive(password: string, salt: Buffer, cost: { N: number; r: number; p: number }): Promise<Buffer> {
  const options: ScryptOptions = { ...cost, maxmem: 256 * cost.N * cost.r }
  return new Promise((resolve, reject) => {
    // NFKC: the same password typed on another keyboard or system is the same bytes.
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}
