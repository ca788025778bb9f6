import type { Logger } from 'pino'
import type { Clock } from '../core/state/clock.ts'
import type { ControlPlaneConfig } from './config.ts'
import { newId } from './crypto/ids.ts'
import type { RotatingKeyring } from './crypto/keyring.ts'
import type { Db } from './db/query.ts'
import { createNarrowedTokens } from './features/credentials/minting/narrowing/narrowed-tokens.ts'
import { Refresher } from './features/credentials/minting/refresher.ts'
import { createMint, createNarrowMint } from './features/credentials/minting/sources.ts'
import { KeyRotation, type ReadKeys } from './features/master-key/service.ts'

export type CredentialServicesDeps = {
  readonly config: ControlPlaneConfig
  readonly db: Db
  readonly orgId: string
  readonly log: Logger
  readonly keyring: RotatingKeyring
  readonly readKeys: ReadKeys
  readonly clock: Clock & { monotonicMs(): number }
}

/**
 * Creates the services that mint short-lived credentials, both for Connectors and for single requests, and the
 * service that rotates the master key.
 */
export async function createCredentialServices({ config, ...deps }: CredentialServicesDeps) {
  const refresher = await Refresher.start({ ...deps, mint: createMint(config), random: Math.random })
  const narrowedTokens = createNarrowedTokens({
    ...deps,
    mint: createNarrowMint(config, deps.clock),
    newTokenId: () => newId('token'),
  })
  const keyRotation = await KeyRotation.start({ ...deps, isOnlyReplica: config.isOnlyReplica })
  return { keyRotation, refresher, narrowedTokens }
}
