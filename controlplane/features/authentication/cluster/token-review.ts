import * as z from 'zod'
import { TOKEN_AUDIENCE } from '../../../../core/capture/pod-contract.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { createPodAccess, type PodApi } from '../../../../kube/pod-access.ts'
import { createKubeTransport } from '../../../../kube/transport.ts'

/** The pod for which a token was issued. The pod exists at the time of the review. */
export type ReviewedPod = {
  readonly namespace: string
  readonly serviceAccount: string
  readonly name: string
  readonly uid: string
}

export type TokenReview = {
  /**
   * Returns the pod of the token. Returns null for a token that is invalid, for another audience, or not bound to a
   * pod. Rejects with `not_ready` when the API server does not answer.
   */
  review(token: string): Promise<ReviewedPod | null>
  close(): void
}

const PATH = '/apis/authentication.k8s.io/v1/tokenreviews'
const TIMEOUT_MS = 5_000
const POD_NAME = 'authentication.kubernetes.io/pod-name'
const POD_UID = 'authentication.kubernetes.io/pod-uid'

const Reply = z.object({
  status: z.object({
    authenticated: z.boolean().default(false),
    error: z.string().default(''),
    audiences: z.array(z.string()).default([]),
    user: z
      .object({
        username: z.string().default(''),
        extra: z.record(z.string(), z.array(z.string())).default({}),
      })
      .prefault({}),
  }),
})

/**
 * Creates the review of projected ServiceAccount tokens by the TokenReview API. The API server rejects the token of a
 * deleted pod.
 */
export function createTokenReview(api: PodApi): TokenReview {
  const transport = createKubeTransport(createPodAccess(api), { maxConnections: 24, idleMs: 10_000 })
  return {
    async review(token) {
      const spec = { token, audiences: [TOKEN_AUDIENCE] }
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec }
      const call = { method: 'POST', path: PATH, body, timeoutMs: TIMEOUT_MS } as const
      const answer = await transport.send(call).catch(unreachable)
      if (answer.status !== 201 && answer.status !== 200) throw refusedBy(answer.status)
      const reply = Reply.safeParse(jsonOf(answer.body))
      if (!reply.success) return unreachable(reply.error)
      const { status } = reply.data
      if (!status.authenticated && NOT_CHECKED.test(status.error)) return unreachable(status.error)
      return podOf(status)
    },
    close: () => transport[Symbol.dispose](),
  }
}

/**
 * Matches errors of an API server that could not check the token, because its storage or a webhook did not answer.
 * These errors do not mean that the token is invalid.
 */
const NOT_CHECKED =
  /timed? ?out|deadline exceeded|connection (?:refused|reset)|unavailable|etcdserver|leader changed|too many requests|internal error|\bEOF\b|dial tcp|no such host|context canceled/i

/** Parses JSON. Returns undefined for invalid JSON, so that every schema rejects it. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function podOf({ authenticated, audiences, user }: z.infer<typeof Reply>['status']): ReviewedPod | null {
  // An API server without support for audiences ignores the requested audience and would accept any token of the
  // cluster.
  if (!authenticated || !audiences.includes(TOKEN_AUDIENCE)) return null
  const [, namespace, serviceAccount] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user.username) ?? []
  const [name] = user.extra[POD_NAME] ?? []
  const [uid] = user.extra[POD_UID] ?? []
  if (namespace === undefined || serviceAccount === undefined || name === undefined || uid === undefined)
    return null
  return { namespace, serviceAccount, name, uid }
}

function unreachable(cause: unknown): never {
  const detail = "The cluster's API does not answer, so this token cannot be checked. Try again in a moment."
  throw new ChaperoneError('not_ready', { detail, retryAfterS: 2, cause })
}

function refusedBy(status: number): ChaperoneError {
  const detail = `The cluster's API answered ${status} to a TokenReview, so this token cannot be checked. The control plane's ServiceAccount needs the right to create tokenreviews, which the chart gives it.`
  return new ChaperoneError('not_ready', { detail, retryAfterS: 5 })
}
