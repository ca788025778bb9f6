import * as z from 'zod'
import { type Namespaces, partsOfRight, type Right } from '../../core/wire/rights.ts'
import { sha256 } from '../crypto/tokens.ts'
import type { ClusterCallers, UserPrincipal } from '../http/auth.ts'
import { governedNamespaces } from '../store/namespaces.ts'
import { isGovernedPod } from '../store/pod-identities.ts'
import type { Db } from '../store/query.ts'
import type { KubeClient } from './kube-client.ts'
import { createReviewedTokens } from './reviewed-tokens.ts'
import { tokenTimes } from './token-times.ts'

const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
/** A review of a token, or of a right, counts for so long: a right that is withdrawn ends within that time. */
const REVIEW_MS = 10_000
const MAX_RIGHTS = 10_000
const POD_UID = 'authentication.kubernetes.io/pod-uid'
const NONE: Namespaces = new Set()

const User = z.object({
  username: z.string().default(''),
  uid: z.string().optional(),
  groups: z.array(z.string()).default([]),
  extra: z.record(z.string(), z.array(z.string())).optional(),
})
type User = z.infer<typeof User>
const TokenReviewed = z.object({
  status: z.object({ authenticated: z.boolean().default(false), user: User.prefault({}) }),
})
const AccessReviewed = z.object({ status: z.object({ allowed: z.boolean() }) })

export type ClusterCallersDeps = { readonly db: Db; readonly kube: Pick<KubeClient, 'create'> }

/**
 * Users of the cluster, by their own bearer tokens (TokenReview) or client certificates, with the rights that its RBAC gives
 * them on resources of `chaperone.dev` (SubjectAccessReview). Tokens are neither stored nor logged. A governed pod is no user,
 * whatever rights its ServiceAccount has.
 */
export function createClusterCallers({ db, kube }: ClusterCallersDeps): ClusterCallers {
  const rightsOf = createRights({ db, kube })
  const tokens = createReviewedTokens<User>({
    async review(token) {
      const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } }
      const { status } = TokenReviewed.parse(await kube.create(REVIEWS, review))
      return status.authenticated && status.user.username !== '' ? status.user : null
    },
  })
  async function principal(user: User): Promise<UserPrincipal> {
    const clusterRights = (right: Right) => rightsOf(user, right)
    return {
      kind: 'user',
      userId: `cluster:${user.username}`,
      email: user.username,
      role: (await clusterRights('settings/update')) === 'all' ? 'admin' : 'member',
      groups: user.groups,
      via: 'cluster',
      namespaces: NONE,
      clusterRights,
    }
  }
  return {
    async byToken(token, address) {
      const hash = sha256(token).toString('hex')
      const presented = { token, hash, expiresAtMs: tokenTimes(token).expiresAtMs, address }
      const { subject } = await tokens.of(presented, { maxAgeMs: REVIEW_MS })
      return subject === null || (await isAgent(db, subject)) ? undefined : principal(subject)
    },
    byCertificate: ({ username, groups }) =>
      principal({ username, groups: [...groups, 'system:authenticated'] }),
  }
}

async function isAgent(db: Db, { extra = {} }: User): Promise<boolean> {
  const [podUid] = extra[POD_UID] ?? []
  return podUid !== undefined && (await isGovernedPod(db, podUid))
}

type RightsOf = (user: User, right: Right) => Promise<Namespaces>

/** Where RBAC gives a right: everywhere, or in these of the namespaces with Gateways or agents. */
function createRights({ db, kube }: ClusterCallersDeps): RightsOf {
  const known = new Map<string, { readonly atMs: number; readonly namespaces: Promise<Namespaces> }>()

  async function isAllowed(user: User, right: Right, namespace: string): Promise<boolean> {
    const resourceAttributes = { group: 'chaperone.dev', ...partsOfRight(right), namespace }
    const { username, ...rest } = user
    const spec = { user: username, ...rest, resourceAttributes }
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
    return AccessReviewed.parse(await kube.create(ACCESS_REVIEWS, review)).status.allowed
  }

  async function ask(user: User, right: Right): Promise<Namespaces> {
    if (await isAllowed(user, right, '')) return 'all'
    const names = await governedNamespaces(db)
    const answers = await Promise.all(names.map((name) => isAllowed(user, right, name)))
    return new Set(names.filter((_, index) => answers[index]))
  }

  return (user, right) => {
    const key = JSON.stringify([right, user])
    const cached = known.get(key)
    if (cached !== undefined && performance.now() - cached.atMs < REVIEW_MS) return cached.namespaces
    const namespaces = ask(user, right)
    if (known.size >= MAX_RIGHTS) known.clear()
    known.set(key, { atMs: performance.now(), namespaces })
    namespaces.catch(() => known.delete(key))
    return namespaces
  }
}
