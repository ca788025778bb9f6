import { readFile } from 'node:fs/promises'
import { Agent, buildConnector, request } from 'undici'
import * as z from 'zod'
import { TOKEN_AUDIENCE } from '../../../../core/capture/pod-contract.ts'
import { ChaperoneError } from '../../../../core/errors.ts'

/** Where the cluster's API is, and the files that a pod has for it; both files are read for every call. */
export type KubeApi = { readonly url: string; readonly caFile: string; readonly tokenFile: string }

/** What the cluster vouches for: the pod that a token was made for, which still exists. */
export type ReviewedPod = {
  readonly namespace: string
  readonly serviceAccount: string
  readonly name: string
  readonly uid: string
}

export type TokenReview = {
  /** Null for a token that is not valid, not for us, or not of a pod. Rejects with `not_ready` when the cluster does not answer. */
  review(token: string): Promise<ReviewedPod | null>
  close(): Promise<void>
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

/** Asks the cluster who a projected ServiceAccount token belongs to. A token of a deleted pod is not valid there. */
export function createTokenReview({ url, caFile, tokenFile }: KubeApi): TokenReview {
  const connect: buildConnector.connector = (options, callback) => {
    readFile(caFile, 'utf8').then(
      (ca) => buildConnector({ ca, timeout: TIMEOUT_MS })(options, callback),
      (error: Error) => callback(error, null),
    )
  }
  const dispatcher = new Agent({ connect, connections: 24, keepAliveTimeout: 10_000 })
  return {
    async review(token) {
      const spec = { token, audiences: [TOKEN_AUDIENCE] }
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec }
      const answer = await ask(body).catch(unreachable)
      if (answer.status !== 201 && answer.status !== 200) throw refusedBy(answer.status)
      const reply = Reply.safeParse(answer.json)
      if (!reply.success) return unreachable(reply.error)
      const { status } = reply.data
      if (!status.authenticated && NOT_CHECKED.test(status.error)) return unreachable(status.error)
      return podOf(status)
    },
    close: () => dispatcher.destroy(),
  }

  async function ask(body: object): Promise<{ readonly status: number; readonly json: unknown }> {
    const own = (await readFile(tokenFile, 'utf8')).trim()
    const reply = await request(url + PATH, {
      method: 'POST',
      headers: { authorization: `Bearer ${own}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      dispatcher,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return { status: reply.statusCode, json: await reply.body.json() }
  }
}

/** Errors of a server that could not check the token, which is no rejection: its storage or a webhook did not answer. */
const NOT_CHECKED =
  /timed? ?out|deadline exceeded|connection (?:refused|reset)|unavailable|etcdserver|leader changed|too many requests|internal error|\bEOF\b|dial tcp|no such host|context canceled/i

function podOf({ authenticated, audiences, user }: z.infer<typeof Reply>['status']): ReviewedPod | null {
  // A server that does not know audiences at all would answer for any token of the cluster.
  if (!authenticated || !audiences.includes(TOKEN_AUDIENCE)) return null
  const [, namespace, serviceAccount] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user.username) ?? []
  const [name] = user.extra[POD_NAME] ?? []
  const [uid] = user.extra[POD_UID] ?? []
  if (namespace === undefined || serviceAccount === undefined || name === undefined || uid === undefined)
    return null
  return { namespace, serviceAccount, name, uid }
}

function unreachable(cause: unknown): never {
  const detail = "The cluster's API cannot be asked whose token this is. Try again in a moment."
  throw new ChaperoneError('not_ready', { detail, retryAfterS: 2, cause })
}

function refusedBy(status: number): ChaperoneError {
  const detail = `The cluster's API answered ${status} to a TokenReview: the control plane's ServiceAccount needs the right to create tokenreviews.`
  return new ChaperoneError('not_ready', { detail, retryAfterS: 5 })
}
