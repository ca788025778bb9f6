import { randomBytes } from 'node:crypto'
import { base62 } from '../../../core/ids.ts'
import { type DataFolder, ensureSecret } from '../state/data-folder.ts'

export type InstallationSecrets = {
  readonly adminToken: string
  readonly gatewayToken: string
  readonly postgresPassword: { readonly value: string; readonly isNew: boolean }
}

/**
 * Creates missing secret files with mode 0600. If the master key file is missing but a database exists, the control
 * plane refuses to start with the new master key.
 */
export function ensureSecrets(folder: DataFolder): InstallationSecrets {
  ensureSecret(folder.masterKey, () => randomBytes(32).toString('base64'))
  for (const file of [folder.enrolToken, folder.operatorToken]) ensureSecret(file, randomToken)
  return {
    adminToken: ensureSecret(folder.adminToken, randomToken).value,
    gatewayToken: ensureSecret(folder.gatewayToken, randomToken).value,
    postgresPassword: ensureSecret(folder.postgresPassword, randomToken),
  }
}

/**
 * Returns 43 random base62 characters. Discards random bytes from 248: 248 is a multiple of 62, so every character is
 * equally likely.
 */
function randomToken(): string {
  const fair: number[] = []
  while (fair.length < 43) fair.push(...randomBytes(64).filter((byte) => byte < 248))
  return base62(Uint8Array.from(fair.slice(0, 43)))
}
