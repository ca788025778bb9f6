import * as z from 'zod'
import type { Namespaces } from '../../../../core/wire/access/rights.ts'
import { sha256Hex } from '../../../../runtime/sha256.ts'
import { tokenTimes } from '../../../crypto/token-times.ts'
import type { ClusterUser } from '../../../db/cluster-user.ts'
import type { Db } from '../../../db/query.ts'
import type { ClusterCallers, UserPrincipal } from '../../../http/auth/authenticate.ts'
import { isGovernedPod, isGovernedServiceAccount } from '../../pods/rows.ts'
import type { KubeClient } from './kube-client.ts'
import { createReviewedTokens } from './reviewed-tokens.ts'
import { createClusterRights } from './rights.ts'

const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
/** Cache time of a TokenReview in milliseconds. A revoked token is accepted for at most this time. */
const REVIEW_MS = 10_000
const POD_UID = 'authentication.kubernetes.io/pod-uid'
const NONE: Namespaces = new Set()

const ClusterUserSchema = z.object({
  username: z.string().default(''),
  uid: z.string().optional(),
  groups: z.array(z.string()).default([]),
  extra: z.record(z.string(), z.array(z.string())).optional(),
})
const TokenReviewed = z.object({
  status: z.object({ authenticated: z.boolean().default(false), user: ClusterUserSchema.prefault({}) }),
})

export type ClusterCallersDeps = { readonly db: Db; readonly kube: Pick<KubeClient, 'create'> }

/**
 * Creates the authentication of users of the cluster, by bearer token (TokenReview) or client certificate. RBAC grants
 * their rights on resources of `chaperone.dev` (SubjectAccessReview). Tokens are neither stored nor logged. Governed
 * pods and their ServiceAccounts are not accepted as users, whatever rights they have.
 */
export function createClusterCallers({ db, kube }: ClusterCallersDeps): ClusterCallers {
  const rightsOf = createClusterRights({ db, kube })
  const tokens = createReviewedTokens<ClusterUser>({
    async review(token) {
      const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } }
      const { status } = TokenReviewed.parse(await kube.create(REVIEWS, review))
      return status.authenticated && status.user.username !== '' ? status.user : null
    },
  })
  async function principal(
    user: ClusterUser,
    clusterCredential: 'token' | 'certificate',
  ): Promise<UserPrincipal | undefined> {
    if (await isAgent(db, user)) return undefined
    return {
      kind: 'user',
      userId: `cluster:${user.username}`,
      email: user.username,
      role: (await rightsOf(user, 'settings/update', 'cluster')) === 'all' ? 'admin' : 'member',
      groups: user.groups,
      via: 'cluster',
      clusterCredential,
      clusterUser: user,
      namespaces: NONE,
      clusterRights: (right, reach) => rightsOf(user, right, reach),
    }
  }
  return {
    async byToken(token, address) {
      const hash = sha256Hex(token)
      const presented = { token, hash, expiresAtMs: tokenTimes(token).expiresAtMs, address }
      const { subject } = await tokens.of(presented, { maxAgeMs: REVIEW_MS })
      return subject === null ? undefined : principal(subject, 'token')
    },
    byCertificate: ({ username, groups }) =>
      principal({ username, groups: [...groups, 'system:authenticated'] }, 'certificate'),
  }
}

/**
 * Resolves whether the token belongs to a pod with a sidecar, or to the ServiceAccount of such a pod. The
 * ServiceAccount counts too, because an agent in such a pod may have created or read a token of the ServiceAccount
 * that is not bound to a pod.
 */
export async function isAgent(db: Db, { username, extra = {} }: ClusterUser): Promise<boolean> {
  const [podUid] = extra[POD_UID] ?? []
  if (podUid !== undefined && (await isGovernedPod(db, podUid))) return true
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? []
  return namespace !== undefined && name !== undefined && isGovernedServiceAccount(db, { namespace, name })
}
