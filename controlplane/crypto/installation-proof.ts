import { createHmac } from 'node:crypto'
import type { Socket } from 'node:net'
import { InstallationKey, proofMessage } from '../../core/wire/installation-proof.ts'
import { readSecretFile } from './secret-files.ts'

/** Answers the challenge that came on this connection. */
export type InstallationProof = (nonce: string, end: Pick<Socket, 'localAddress' | 'localPort'>) => string

export function createInstallationProof({ folder, key }: InstallationKey): InstallationProof {
  return (nonce, { localAddress: address = '', localPort: port = 0 }) =>
    createHmac('sha256', key)
      .update(proofMessage('control_plane', { folder, nonce, address, port }))
      .digest('base64url')
}

/** Throws with the setting's name when the file holds no key. */
export async function readInstallationKey(path: string): Promise<InstallationKey> {
  const text = await readSecretFile(path, 'INSTALLATION_KEY_FILE')
  try {
    return InstallationKey.parse(JSON.parse(text))
  } catch (cause) {
    throw new Error(
      `INSTALLATION_KEY_FILE: ${path} holds no key of an installation: start chaperone up again`,
      { cause },
    )
  }
}
