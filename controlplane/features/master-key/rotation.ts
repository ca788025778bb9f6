import type { Logger } from 'pino'
import type { RotatingKeyring } from '../../crypto/keyring.ts'
import type { Db } from '../../db/query.ts'
import { systemActor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { rewrapAll } from './rewrap.ts'
import { type RotationState, readRotation } from './rows.ts'
import { completeMasterKey, insertMasterKey, lockMasterKeys } from './store.ts'

export type RotationDeps = {
  readonly db: Db
  readonly orgId: string
  readonly keyring: RotatingKeyring
  readonly log: Logger
  readonly clock: { monotonicMs(): number }
}

/**
 * Milliseconds for which a rotation must find no value that is encrypted with a former key, before the rotation ends. A
 * transaction that encrypted a value with a former key commits within this time.
 */
const SETTLE_MS = 2_000

export type Rotation = {
  /**
   * Executes the next step of the rotation if one is due. Resolves to true when no step is due. `isLeader`:
   * returns whether this replica executes the steps; only one replica does.
   */
  advance(isLeader: (state: RotationState) => boolean): Promise<boolean>
}

/**
 * Creates a rotation to the newest key of the keyring. As soon as every replica can decrypt with this key, new secrets
 * are encrypted with this key. Then every stored value is encrypted again. Each step is one statement or one
 * transaction: when a process ends during a rotation, each value can be decrypted with one of the keys, and another
 * process continues the rotation.
 */
export function createRotation(deps: RotationDeps): Rotation {
  const { db, keyring, clock } = deps
  let emptySinceMs: number | null = null

  async function finish(state: RotationState): Promise<boolean> {
    const isWaiting = state.earlierReplicas > 0 || state.replicas.some((one) => one.sealingId !== keyring.id)
    if ((await rewrapAll(deps)) > 0 || isWaiting) {
      emptySinceMs = null
      return false
    }
    emptySinceMs ??= clock.monotonicMs()
    if (clock.monotonicMs() - emptySinceMs < SETTLE_MS) return false
    emptySinceMs = null
    await complete(deps)
    return true
  }

  /** Executes the next step of a rotation. Resolves to true when the rotation has ended. */
  async function lead(state: RotationState, target: string): Promise<boolean> {
    if (state.used.includes(target)) return finish(state)
    if (isReadableByAll(state, target)) await begin(deps, target)
    return false
  }

  return {
    async advance(isLeader) {
      const state = await readRotation(db)
      follow(keyring, state)
      const target = newestOf(keyring)
      if (state.isComplete && state.used.includes(target)) return true
      return isLeader(state) && (await lead(state, target))
    },
  }
}

function follow(keyring: RotatingKeyring, { used: [sealingId] }: RotationState): void {
  if (sealingId !== undefined && sealingId !== keyring.id) keyring.sealWith(sealingId)
}

function newestOf({ keyIds }: RotatingKeyring): string {
  return keyIds.at(-1) ?? keyIds[0]
}

/** Reports whether every running replica can decrypt with the key. */
function isReadableByAll({ replicas, earlierReplicas }: RotationState, keyId: string): boolean {
  return earlierReplicas === 0 && replicas.every(({ keyIds }) => keyIds.includes(keyId))
}

async function begin({ db, orgId, keyring, log }: RotationDeps, keyId: string): Promise<void> {
  const former = keyring.id
  await db.tx(async (q) => {
    await lockMasterKeys(q)
    if ((await readRotation(q)).used.includes(keyId)) return
    await insertMasterKey(q, keyId, { isComplete: false })
    const details = { change: 'master_key_rotation_started', key_id: keyId, former_key_id: former }
    await recordEvent(q, { orgId, actor: systemActor('installation'), type: 'settings.updated', details })
  })
  keyring.sealWith(keyId)
  log.info(
    { key_id: keyId, former_key_id: former },
    'the rotation of the master key has begun: new secrets are encrypted with the new key',
  )
}

async function complete({ db, orgId, keyring, log }: RotationDeps): Promise<void> {
  const keyId = keyring.id
  await db.tx(async (q) => {
    const rewrapped = await completeMasterKey(q, keyId)
    if (rewrapped === null) return
    const details = { change: 'master_key_rotation_completed', key_id: keyId, rewrapped }
    await recordEvent(q, { orgId, actor: systemActor('installation'), type: 'settings.updated', details })
    log.info(
      { key_id: keyId, rewrapped },
      'the rotation of the master key is complete: every stored secret is encrypted with the new key',
    )
  })
}
