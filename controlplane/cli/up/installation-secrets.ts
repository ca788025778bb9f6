import { randomBytes } from 'node:crypto'
import { base62 } from '../../../core/ids.ts'
import { type DataFolder, ensureSecret } from '../state/data-folder.ts'

export type InstallationSecrets = {
  readonly adminToken: string
  readonly gatewayToken: string
  readonly postgresPassword: { readonly value: string; readonly isNew: boolean }
}

/** Makes what is missing, every file 0600. A folder that lost its master key says so at start, in the control plane. */
export function ensureKeys(folder: DataFolder): InstallationSecrets {
  ensureSecret(folder.masterKey, () => randomBytes(32).toString('base64'))
  for (const file of [folder.enrolToken, folder.operatorToken]) ensureSecret(file, randomToken)
  return {
    adminToken: ensureSecret(folder.adminToken, randomToken).value,
    gatewayToken: ensureSecret(folder.gatewayToken, randomToken).value,
    postgresPassword: ensureSecret(folder.postgresPassword, randomToken),
  }
}

/** 43 characters of base62, every character equally likely. */
function randomToken(): string {
  const fair: number[] = []
  while (fair.length < 43) fair.push(...randomBytes(64).filter((byte) => byte < 248))
  return base62(Uint8Array.from(fair.slice(0, 43)))
}
