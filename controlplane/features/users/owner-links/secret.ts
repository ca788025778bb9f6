import * as z from 'zod'
import { OWNER_LINK_LIFE_MS } from '../../../../core/wire/access/owner-link.ts'
import { sha256 } from '../../../../runtime/sha256.ts'
import { matchesHash } from '../../../crypto/tokens.ts'
import type { KubeClient } from '../../authentication/cluster/kube-client.ts'

export type OwnerLinkSecret = {
  /** Name of the Secret, `namespace/name`. */
  readonly name: string
  /**
   * Returns whether the token equals the token in the Secret and is at most an hour old. Rejects with `not_ready` when
   * the API server does not answer.
   */
  matches(token: string): Promise<boolean>
}

const Secret = z.object({ data: z.object({ token: z.string(), 'expires-at': z.string() }) })
/** Maximum clock difference in milliseconds between this machine and the machine that wrote the Secret. */
const CLOCK_SKEW_MS = 60_000

/**
 * Creates the reader for the Secret with the owner link, by which the first owner registers. The control plane only
 * reads the Secret; a user with the right to update the Secret writes the link.
 */
export function createOwnerLinkSecret(
  kube: KubeClient,
  place: { readonly namespace: string; readonly name: string },
  nowMs: () => number,
): OwnerLinkSecret {
  return {
    name: `${place.namespace}/${place.name}`,
    async matches(token) {
      const answer = await kube.get(`/api/v1/namespaces/${place.namespace}/secrets/${place.name}`)
      const parsed = Secret.safeParse(answer)
      if (!parsed.success) return false
      const { token: stored, 'expires-at': end } = parsed.data.data
      const restMs = Date.parse(decoded(end)) - nowMs()
      const isInTime = restMs > 0 && restMs <= OWNER_LINK_LIFE_MS + CLOCK_SKEW_MS
      const text = decoded(stored)
      return isInTime && text.length >= 43 && matchesHash(token, sha256(text))
    },
  }
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8').trim()
}
