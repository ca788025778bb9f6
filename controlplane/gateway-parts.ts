import type { Logger } from 'pino'
import type { ControlPlaneConfig } from './config.ts'
import { createGatewayAuthority, type GatewayAuthority } from './crypto/gateway-authority.ts'
import type { Keyring } from './crypto/keyring.ts'
import type { Identify } from './http/auth.ts'
import type { BreakGlass } from './http/owner-token.ts'
import type { VouchFor } from './oidc/confirmation.ts'
import type { ClusterGroups } from './services/answerable-sets.ts'
import { createBreakGlass } from './services/break-glass.ts'
import { readClientAuthorities } from './services/client-authority.ts'
import { createClusterCallers } from './services/cluster-callers.ts'
import { createClusterGroups } from './services/cluster-groups.ts'
import { type ConfirmAnswer, createConfirmAnswer } from './services/earlier-answers.ts'
import { ACCOUNTS_ONLY, createGroupMembers, type GroupMembers } from './services/group-members.ts'
import { createIdentities } from './services/identities.ts'
import { createKubeClient, type KubeClient } from './services/kube-client.ts'
import { createOperatorIdentity } from './services/operator-identity.ts'
import { createPodIdentities, type PodIdentities } from './services/pod-identities.ts'
import { withRecentCallers } from './services/recent-callers.ts'
import { createReviewedTokens } from './services/reviewed-tokens.ts'
import { startSessionPreload } from './services/session-preload.ts'
import { createTokenReview } from './services/token-review.ts'
import type { Db } from './store/query.ts'
import { listGroups } from './store/users.ts'

export type GatewayParts = AsyncDisposable & {
  readonly identify: Identify
  readonly authority: GatewayAuthority
  /** Null where there is no cluster to ask. */
  readonly pods: PodIdentities | null
  /** Approver groups of the cluster; undefined where there is no cluster to ask. */
  readonly clusterGroups: ClusterGroups | undefined
  /** Of approver groups without accounts. */
  readonly members: GroupMembers
  /** Of earlier answers of an approval. */
  readonly confirmAnswer: ConfirmAnswer
  /** The authorities of client certificates; null where there is no cluster to ask. */
  readonly readClientCa: (() => Promise<readonly string[]>) | null
  /** Null where no Secret of a cluster holds the owner's token. */
  readonly breakGlass: BreakGlass | null
}

/** Who may call, sidecars of a cluster among them, and the authority that signs their keys. */
export async function createGatewayParts(given: {
  readonly db: Db
  readonly orgId: string
  readonly keyring: Keyring
  readonly config: ControlPlaneConfig
  readonly nowMs: number
  readonly log: Logger
  readonly vouchFor: VouchFor
}): Promise<GatewayParts> {
  const { kubeApi, operatorAccount: account } = given.config
  const review = kubeApi === null ? null : createTokenReview(kubeApi)
  const tokens = review === null ? null : createReviewedTokens(review)
  const pods = tokens === null ? null : createPodIdentities({ ...given, tokens })
  const operatorToken =
    tokens === null || account === null ? null : createOperatorIdentity({ tokens, account })
  const kube = kubeApi === null ? null : createKubeClient(kubeApi)
  const clusterCallers = kube === null ? null : withRecentCallers(createClusterCallers({ ...given, kube }))
  const podToken = pods?.identify ?? null
  const identify = createIdentities({ ...given, podToken, operatorToken, clusterCallers })
  const preload = await startSessionPreload(identify.preloadSessions, given.log)
  return {
    identify,
    authority: createGatewayAuthority(given.keyring, given.nowMs),
    pods,
    ...clusterParts({ ...given, kube }),
    ...groupParts(given.db, kube),
    confirmAnswer: createConfirmAnswer({ ...given, kube }),
    async [Symbol.asyncDispose]() {
      preload[Symbol.dispose]()
      await review?.close()
      await kube?.close()
    },
  }
}

function groupParts(db: Db, kube: KubeClient | null): Pick<GatewayParts, 'clusterGroups' | 'members'> {
  if (kube === null) return { clusterGroups: undefined, members: ACCOUNTS_ONLY }
  const clusterGroups = createClusterGroups(kube)
  const nowMs = () => performance.now()
  return {
    clusterGroups,
    members: createGroupMembers({ clusterGroups, accounts: () => listGroups(db), nowMs }),
  }
}

type ClusterPartsDeps = {
  readonly db: Db
  readonly orgId: string
  readonly config: ControlPlaneConfig
  readonly kube: KubeClient | null
}

function clusterParts({
  kube,
  config,
  ...base
}: ClusterPartsDeps): Pick<GatewayParts, 'readClientCa' | 'breakGlass'> {
  if (kube === null) return { readClientCa: null, breakGlass: null }
  const { adminTokenSecret: secret } = config
  return {
    readClientCa: () => readClientAuthorities(kube),
    breakGlass: secret === null ? null : createBreakGlass({ ...base, kube, secret, nowMs: Date.now }),
  }
}
