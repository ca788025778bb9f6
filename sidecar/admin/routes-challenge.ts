import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import {
  CHALLENGE_PATHS,
  type ChallengeReply,
  InstallationKey,
  ProofNonce,
  proofMessage,
} from '../../core/wire/access/installation-proof.ts'
import { invalid, ok } from './api-http.ts'
import { type ApiRoute, get } from './api-route.ts'

/**
 * Returns the route with which the gateway proves its identity to the CLI, before the CLI sends a token. Returns no
 * route when `file` is null. Throws an error with the name of the environment variable when the file contains no key.
 */
export async function challengeRoutes(file: string | null): Promise<readonly ApiRoute[]> {
  if (file === null) return []
  const { folder, key } = await readKey(file)
  return [
    get(CHALLENGE_PATHS.gateway, ({ query, local }) => {
      const nonce = ProofNonce.safeParse(new URLSearchParams(query).get('nonce'))
      if (!nonce.success) throw invalid(['nonce: must be 32 bytes as base64url'])
      const message = proofMessage('gateway', { folder, nonce: nonce.data, ...local })
      return ok<ChallengeReply>({ proof: createHmac('sha256', key).update(message).digest('base64url') })
    }),
  ]
}

async function readKey(file: string): Promise<InstallationKey> {
  try {
    return InstallationKey.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (cause) {
    throw new Error(`INSTALLATION_KEY_FILE: ${file} contains no installation key. Run chaperone up again.`, {
      cause,
    })
  }
}
