import { ChaperoneError } from '../../../core/errors.ts'
import { parseAddress } from '../../../core/request/address.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import type { Db, Query } from '../../db/query.ts'
import { isKnownAddress, rememberAddress } from './address-store.ts'
import {
  type AttemptKey,
  countAttempt,
  deleteAttempts,
  deleteAttemptsOfAccount,
  uncountAttempts,
} from './failure-store.ts'

/**
 * Number of failed attempts after which a client must wait. Applies per account and address, and per device or
 * address from which the user signed in before.
 */
const FREE = 5
/**
 * Number of failed attempts after which clients must wait. Applies to one address over all accounts, and to one
 * account over all addresses from which the user has not signed in before.
 */
const FREE_IN_ALL = 100

/** Account and origin of a sign-in attempt. */
export type Attempt = {
  readonly email: string
  readonly address: string
  /** Id of the device when its cookie proves an earlier sign-in of the account; otherwise null. */
  readonly device: string | null
}

type Counted = { readonly keys: readonly AttemptKey[] }

/**
 * Counts an attempt before the password is verified. A device or address from which the user signed in before has a
 * separate count, so that attempts of other clients cannot lock the user out. Throws `rate_limited` with the seconds
 * to wait.
 */
export async function countSignIn(db: Db, attempt: Attempt): Promise<Counted> {
  const counts = [...deviceKeys(attempt), await addressKeys(db, attempt)]
  const waits: number[] = []
  for (const keys of counts) {
    const waitS = await countAll(db, keys)
    if (waitS === 0) return { keys }
    waits.push(waitS)
  }
  throw tooMany(Math.min(...waits), ', or sign in on a device where this account signed in before')
}

/**
 * Returns the name of the queue in which a sign-in waits for the verification of its password. The queues are served
 * round-robin. A device from which the user signed in before has a queue of its own; all other clients of one network
 * (address prefix) share a queue.
 */
export function turnOf({ device, address }: Pick<Attempt, 'device' | 'address'>): string {
  return device === null ? `network ${networkOf(address)}` : `device ${device}`
}

/**
 * Counts a registration before its password is hashed. `succeeded` in the result removes the count. Throws
 * `rate_limited` with the seconds to wait.
 */
export async function countRegistration(
  db: Db,
  address: string,
): Promise<{ succeeded(q: Query): Promise<void> }> {
  const key = {
    hash: sha256(`registration\n${networkOf(address)}`),
    free: FREE_IN_ALL,
    account: null,
  }
  const waitS = await countAttempt(db, key)
  if (waitS > 0) throw tooMany(waitS)
  return { succeeded: (q) => uncountAttempts(q, [key.hash]) }
}

/** Counts a password attempt of a signed-in user. Throws `rate_limited` with the seconds to wait. */
export async function countPasswordCheck(db: Db, userId: string): Promise<void> {
  const waitS = await countAttempt(db, passwordKey(userId))
  if (waitS > 0) throw tooMany(waitS)
}

export async function deletePasswordChecks(q: Query, userId: string): Promise<void> {
  await deleteAttempts(q, [passwordKey(userId).hash])
}

/**
 * Deletes the counts of the account and of this machine's addresses after a password reset on this machine, because the
 * user signs in on this machine next.
 */
export async function deleteAccountAttempts(
  q: Query,
  user: { readonly id: string; readonly email: string },
): Promise<void> {
  await deleteAttemptsOfAccount(q, accountOf(user.email))
  const machine = ['127.0.0.1', '::1'].map((address) => addressKey(address))
  await deleteAttempts(
    q,
    [...machine, passwordKey(user.id)].map(({ hash }) => hash),
  )
}

/** Handles a correct password: deletes the failure counts of this client and stores its address as known. */
export async function acceptSignIn(q: Query, attempt: Attempt, { keys }: Counted): Promise<void> {
  const isShared = ({ free }: AttemptKey) => free === FREE_IN_ALL
  await deleteAttempts(
    q,
    [...keys.filter((key) => !isShared(key)), pairKey(attempt)].map(({ hash }) => hash),
  )
  // Subtracts only this attempt from the shared counts, so that failures of other clients stay counted.
  await uncountAttempts(
    q,
    keys.filter(isShared).map(({ hash }) => hash),
  )
  await rememberAddress(q, pairKey(attempt).hash)
}

/**
 * Counts the attempt under every key. When one of the keys requires a wait, counts the attempt under no key. Returns
 * the seconds to wait.
 */
async function countAll(db: Db, keys: readonly AttemptKey[]): Promise<number> {
  for (const [index, key] of keys.entries()) {
    const waitS = await countAttempt(db, key)
    if (waitS === 0) continue
    await uncountAttempts(
      db,
      keys.slice(0, index).map(({ hash }) => hash),
    )
    return waitS
  }
  return 0
}

function deviceKeys({ device, email }: Attempt): ReadonlyArray<readonly AttemptKey[]> {
  return device === null
    ? []
    : [[{ hash: sha256(`device\n${device}`), free: FREE, account: accountOf(email) }]]
}

/**
 * Returns the keys of an attempt. The key of the address is first, so that attempts from an address that must wait
 * create no rows for the accounts that they name.
 */
async function addressKeys(db: Db, attempt: Attempt): Promise<readonly AttemptKey[]> {
  const pair = pairKey(attempt)
  if (await isKnownAddress(db, pair.hash)) return [pair]
  const account = accountOf(attempt.email)
  return [addressKey(attempt.address), pair, { hash: account, free: FREE_IN_ALL, account }]
}

function pairKey({ email, address }: Attempt): AttemptKey {
  const hash = sha256(`${email.toLowerCase()}\n${networkOf(address)}`)
  return { hash, free: FREE, account: accountOf(email) }
}

function addressKey(address: string): AttemptKey {
  return { hash: sha256(`address\n${networkOf(address)}`), free: FREE_IN_ALL, account: null }
}

function accountOf(email: string): Buffer {
  return sha256(email.toLowerCase())
}

function passwordKey(userId: string): AttemptKey {
  return { hash: sha256(`password\n${userId}`), free: FREE, account: null }
}

const MAPPED_PREFIX = '00000000000000000000ffff'

/**
 * Returns the network of a client: its IPv4 address, or the /64 prefix of its IPv6 address, because one client usually
 * has the whole /64.
 */
export function networkOf(address: string): string {
  const bytes = parseAddress(address.split('%')[0] ?? address)
  if (bytes === null) return address
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  if (bytes.length === 4) return hex
  return hex.startsWith(MAPPED_PREFIX) ? hex.slice(MAPPED_PREFIX.length) : `${hex.slice(0, 16)}/64`
}

function tooMany(waitS: number, otherwise = ''): ChaperoneError {
  return new ChaperoneError('rate_limited', {
    error: 'Rate limit exceeded',
    detail: `Too many failed attempts. Try again in ${waitS} s${otherwise}.`,
    retryAfterS: waitS,
  })
}
