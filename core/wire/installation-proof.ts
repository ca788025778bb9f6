import * as z from 'zod'

/** The file that INSTALLATION_KEY_FILE names: the key of one installation, kept in the home of the user who starts it. */
export const InstallationKey = z.object({
  /** The data folder. */
  folder: z.string().min(1),
  /** 32 random bytes as base64url. */
  key: z.string().regex(/^[\w-]{43}$/),
})
export type InstallationKey = z.infer<typeof InstallationKey>

/** 32 random bytes as base64url, new for each challenge. */
export const ProofNonce = z.string().regex(/^[\w-]{43}$/, 'has 32 bytes as base64url')

/** Where a server answers the challenge `?nonce=` with `{proof}`. */
export const CHALLENGE_PATHS = { control_plane: '/api/challenge', gateway: '/challenge' } as const
export type Prover = keyof typeof CHALLENGE_PATHS

/** What a challenge is about; `address` and `port` are the server's end of the connection that the challenge came on. */
export type ProofSubject = {
  readonly folder: string
  readonly nonce: string
  readonly address: string
  readonly port: number
}

/**
 * Returns the text whose HMAC-SHA256 under the key of the installation is the proof. It holds the server's own address,
 * so that a program at another address cannot pass on the proof of the real server.
 */
export function proofMessage(prover: Prover, { folder, nonce, address, port }: ProofSubject): string {
  const host = address.replace(/^\[|\]$/g, '').replace(/^::ffff:(?=\d+\.)/i, '')
  return JSON.stringify(['chaperone proof', prover, folder, nonce, host, port])
}
