import { newId } from '../../crypto/ids.ts'
import type { RotatingKeyring } from '../../crypto/keyring.ts'
import type { MasterKeys } from '../../crypto/master-keys.ts'
import type { Db, Query } from '../../db/query.ts'
import { rewrapAll } from './rewrap.ts'
import { createRotation, type Rotation, type RotationDeps } from './rotation.ts'
import { countSealed, readRotation } from './rows.ts'
import { deleteReplicaKeys, insertMasterKey, lockMasterKeys, reportReplicaKeys } from './store.ts'

/** Reads the master key file. Each call reads the present content. */
export type ReadKeys = () => Promise<MasterKeys>

export type KeyRotationDeps = RotationDeps & {
  readonly readKeys: ReadKeys
  /** Whether no other process uses the database. */
  readonly isOnlyReplica: boolean
}

const IDLE_MS = 3_000
const BUSY_MS = 500
/**
 * Milliseconds between two searches for values that are encrypted with a former key. The searches continue after the
 * rotation has ended, because a transaction that began earlier may have stored such a value. A process without a former
 * key does not search.
 */
const SEARCH_MS = 60_000

/**
 * Selects the key that encrypts new secrets, at the start of a process. Throws when the process does not have the key.
 * Must be called in a transaction.
 */
export async function followSealingKey(q: Query, keyring: RotatingKeyring): Promise<void> {
  await lockMasterKeys(q)
  const { used } = await readRotation(q)
  const [sealingId] = used
  if (sealingId === undefined) await insertMasterKey(q, keyring.id, { isComplete: true })
  else keyring.sealWith(sealingId)
}

/** Applies changes of the master key file and takes part in the rotation of all replicas, until disposed. */
export class KeyRotation implements AsyncDisposable {
  readonly #deps: KeyRotationDeps
  readonly #replicaId = newId('process')
  readonly #rotation: Rotation
  #searchedMs: number
  #running: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #isDisposed = false

  private constructor(deps: KeyRotationDeps) {
    this.#deps = deps
    this.#rotation = createRotation(deps)
    this.#searchedMs = deps.clock.monotonicMs()
  }

  /** Starts the rotation. Rejects when the keys of this replica cannot be reported. */
  static async start(deps: KeyRotationDeps): Promise<KeyRotation> {
    if (deps.isOnlyReplica) await deleteReplicaKeys(deps.db, null)
    const rotation = new KeyRotation(deps)
    await rotation.#report()
    rotation.#schedule(BUSY_MS)
    return rotation
  }

  async #report(): Promise<void> {
    const { db, keyring } = this.#deps
    await reportReplicaKeys(db, {
      replicaId: this.#replicaId,
      keyIds: keyring.keyIds,
      sealingId: keyring.id,
    })
  }

  async #step(): Promise<boolean> {
    const { clock, keyring } = this.#deps
    await reload(this.#deps)
    await this.#report()
    const isIdle = await this.#rotation.advance(({ replicas }) => replicas[0]?.replicaId === this.#replicaId)
    const nowMs = clock.monotonicMs()
    if (isIdle && keyring.hasSeveralKeys && nowMs - this.#searchedMs > SEARCH_MS) {
      this.#searchedMs = nowMs
      await rewrapAll(this.#deps)
    }
    return isIdle
  }

  #schedule(delayMs: number): void {
    if (this.#isDisposed) return
    this.#timer = setTimeout(() => {
      this.#running = this.#step()
        .catch((error: unknown) => {
          this.#deps.log.error(
            { err: error },
            'a step of the rotation of the master key failed, trying again',
          )
          return true
        })
        .then((isIdle) => this.#schedule(isIdle ? IDLE_MS : BUSY_MS))
    }, delayMs)
    this.#timer.unref()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { db, log } = this.#deps
    this.#isDisposed = true
    clearTimeout(this.#timer)
    await this.#running
    await deleteReplicaKeys(db, this.#replicaId).catch((error: unknown) =>
      log.warn(
        { err: error },
        'could not remove the list of the master keys that this replica had; the list expires by itself',
      ),
    )
  }
}

async function reload({ keyring, log, readKeys }: KeyRotationDeps): Promise<void> {
  const before = keyring.keyIds.join()
  try {
    keyring.reload(await readKeys())
  } catch (error) {
    log.error(
      { err: error },
      'the master key file cannot be read, so the keys that were read before stay in use; trying again',
    )
  }
  if (keyring.keyIds.join() !== before)
    log.info({ key_ids: keyring.keyIds }, 'the master key file has changed; its keys are loaded')
}

/** Calls `work` under a lock that prevents other processes from changing the master keys. */
export async function withMasterKeysLocked<T>(db: Db, work: () => Promise<T>): Promise<T> {
  return await db.tx(async (q) => {
    await lockMasterKeys(q)
    return await work()
  })
}

/** State of the master keys and of a rotation, for the command line. Contains the ids of keys, but no keys. */
export type KeyStatus = {
  /** Id of the key that encrypts new secrets; null before the first start of the control plane. */
  readonly sealing_key: string | null
  /** Ids of the keys of the master key file, newest last. */
  readonly keys: readonly string[]
  /** True when every secret is encrypted with the newest key. */
  readonly is_complete: boolean
  /** Number of stored secrets by the id of the key that encrypts them. */
  readonly secrets: Readonly<Record<string, number>>
  /**
   * Ids of the replicas that prevent the next step. Before the rotation starts, these are replicas that cannot
   * decrypt with the newest key. Afterwards, these are replicas that do not encrypt with this key yet.
   */
  readonly waiting_for: readonly string[]
}

/** Returns the state of the master keys. `keys`: ids of the keys of the master key file, the newest last. */
export async function keyStatus(q: Query, keys: readonly string[]): Promise<KeyStatus> {
  const state = await readRotation(q)
  const [sealingId = null] = state.used
  const newest = keys.at(-1)
  const secrets = await countSealed(q)
  const isStarted = sealingId === newest
  const waiting = state.replicas
    .filter((one) =>
      isStarted ? one.sealingId !== newest : newest !== undefined && !one.keyIds.includes(newest),
    )
    .map((one) => one.replicaId)
  const earlier = state.earlierReplicas > 0 ? [`${state.earlierReplicas} of an earlier version`] : []
  const hasFormer = [...secrets.keys()].some((id) => id !== newest)
  return {
    sealing_key: sealingId,
    keys,
    is_complete: isStarted && state.isComplete && !hasFormer,
    secrets: Object.fromEntries(secrets),
    waiting_for: [...waiting, ...earlier],
  }
}
