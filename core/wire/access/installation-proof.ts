import * as z from 'zod'
import { withoutBrackets } from '../../request/authority-text.ts'

/**
 * Content of the file INSTALLATION_KEY_FILE, the key of one installation. The file is in the home folder of the user
 * who starts the installation.
 */
export const InstallationKey = z.object({
  /** Data folder of the installation. */
  folder: z.string().min(1),
  /** Key of the installation: 32 random bytes as base64url. */
  key: z.string().regex(/^[\w-]{43}$/),
})
export type InstallationKey = z.infer<typeof InstallationKey>
export type ChallengeReply = z.infer<typeof ChallengeReply>

/** Nonce of a challenge: 32 random bytes as base64url, different for each challenge. */
export const ProofNonce = z.string().regex(/^[\w-]{43}$/, 'must be 32 bytes as base64url')

export const ChallengeQuery = z.strictObject({ nonce: ProofNonce })
export const ChallengeReply = z.object({ proof: z.string() })

/** Paths of the challenge. A server responds to the query `?nonce=` with `{proof}`. */
export const CHALLENGE_PATHS = { control_plane: '/api/challenge', gateway: '/challenge' } as const
export type Prover = keyof typeof CHALLENGE_PATHS

/** Data that a proof covers. `address` and `port` are the server's end of the connection. */
export type ProofSubject = {
  readonly folder: string
  readonly nonce: string
  readonly address: string
  readonly port: number
}

/**
 * Returns the text whose HMAC-SHA256 with the installation's key is the proof. The text contains the server's address,
 * so that a program at another address cannot relay the proof.
 */
export function proofMessage(prover: Prover, { folder, nonce, address, port }: ProofSubject): string {
  const host = withoutBrackets(address).replace(/^::ffff:(?=\d+\.)/i, '')
  return JSON.stringify(['chaperone proof', prover, folder, nonce, host, port])
}
