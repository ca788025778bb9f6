import { createHmac } from 'node:crypto'
import type { Socket } from 'node:net'
import { InstallationKey, proofMessage } from '../../core/wire/access/installation-proof.ts'
import { readSecretFile } from './secret-files.ts'

/**
 * Computes the answer to a challenge (`nonce`), by which a client verifies that this server belongs to the
 * client's installation. `end`: local address and port of the connection on which the challenge arrived.
 */
export type InstallationProof = (nonce: string, end: Pick<Socket, 'localAddress' | 'localPort'>) => string

export function createInstallationProof({ folder, key }: InstallationKey): InstallationProof {
  return (nonce, { localAddress: address = '', localPort: port = 0 }) =>
    createHmac('sha256', key)
      .update(proofMessage('control_plane', { folder, nonce, address, port }))
      .digest('base64url')
}

/** Reads the installation key. Rejects with an error that names the setting when the file is invalid. */
export async function readInstallationKey(path: string): Promise<InstallationKey> {
  const text = await readSecretFile(path, 'INSTALLATION_KEY_FILE')
  try {
    return InstallationKey.parse(JSON.parse(text))
  } catch (cause) {
    throw new Error(`INSTALLATION_KEY_FILE: ${path} is not an installation key. Restart chaperone up.`, {
      cause,
    })
  }
}
