import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ChallengeReply } from '../../../core/wire/access/installation-proof.ts'
import {
  CHALLENGE_PATHS,
  type InstallationKey,
  type Prover,
  proofMessage,
} from '../../../core/wire/access/installation-proof.ts'
import { replyFields } from './reply-fields.ts'

/**
 * Authenticates a server before the client sends a credential. Rejects with `conflict` when the server cannot prove
 * that it belongs to the installation.
 */
export type Prove = (get: (path: string) => Promise<unknown>) => Promise<void>

const Answer = replyFields<ChallengeReply>()(z.looseObject({ proof: z.string() }))

/**
 * Creates the function that authenticates the server at `url` with a challenge. Only the first call sends a challenge;
 * further calls share its result.
 *
 * @param keyOf Returns the installation key. When `keyOf` throws because there is no key, no request is sent.
 */
export function createServerProof(url: string, prover: Prover, keyOf: () => InstallationKey): Prove {
  let proved: Promise<void> | undefined
  return async (get) => {
    proved ??= challenge(url, prover, keyOf(), get)
    await proved
  }
}

async function challenge(
  url: string,
  prover: Prover,
  { folder, key }: InstallationKey,
  get: (path: string) => Promise<unknown>,
): Promise<void> {
  const nonce = randomBytes(32).toString('base64url')
  const { hostname: address, port, origin } = new URL(url)
  const answer = Answer.safeParse(await get(`${CHALLENGE_PATHS[prover]}?nonce=${nonce}`))
  const message = proofMessage(prover, { folder, nonce, address, port: Number(port || 80) })
  const wanted = createHmac('sha256', key).update(message).digest('base64url')
  if (answer.success && isSame(answer.data.proof, wanted)) return
  throw new ChaperoneError('conflict', {
    detail:
      `The program at ${origin} did not prove that it is the ${prover.replace('_', ' ')} of ${folder}. No credential was sent to it.\n` +
      `If an older version of Chaperone runs there, restart it with this version: chaperone up --data ${folder}. Otherwise find out which program uses the port.`,
  })
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)]
  return a.length === b.length && timingSafeEqual(a, b)
}
