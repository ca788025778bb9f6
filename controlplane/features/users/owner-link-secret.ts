import * as z from 'zod'
import { OWNER_LINK_LIFE_MS } from '../../../core/wire/access/owner-link.ts'
import { matchesHash, sha256 } from '../../crypto/tokens.ts'
import type { KubeClient } from '../authentication/cluster/kube-client.ts'

export type OwnerLinkSecret = {
  /** Name of the Secret, `namespace/name`. */
  readonly name: string
  /**
   * Returns whether the token is that of the Secret and at most an hour old. Rejects with `not_ready` when the cluster
   * does not answer.
   */
  matches(token: string): Promise<boolean>
}

const Secret = z.object({ data: z.object({ token: z.string(), 'expires-at': z.string() }) })
/** Maximum difference between the clocks of this machine and of the machine that wrote the Secret. */
const CLOCK_SKEW_MS = 60_000

/**
 * Creates the reader of a cluster's owner link. Only a user with the right to update the Secret can write the link; the
 * control plane reads it.
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
