import type { Logger } from 'pino'
import type { ControlPlaneConfig } from './config.ts'
import { createGatewayCa, type GatewayCa } from './crypto/gateway-ca.ts'
import type { Keyring } from './crypto/keyring.ts'
import type { Db } from './db/query.ts'
import type { ClusterGroups } from './features/approvals/answers/answerable-sets.ts'
import { type ConfirmAnswer, createConfirmAnswer } from './features/approvals/answers/earlier-answers.ts'
import { createBreakGlass } from './features/authentication/break-glass.ts'
import { createAnswerRight } from './features/authentication/cluster/answer-right.ts'
import { createClusterCallers } from './features/authentication/cluster/callers.ts'
import { readClientCas } from './features/authentication/cluster/client-ca.ts'
import {
  ACCOUNTS_ONLY,
  createGroupMembers,
  type GroupMembers,
} from './features/authentication/cluster/group-members.ts'
import { createClusterGroups } from './features/authentication/cluster/groups.ts'
import { createKubeClient, type KubeClient } from './features/authentication/cluster/kube-client.ts'
import { createOperatorIdentity } from './features/authentication/cluster/operator-identity.ts'
import { createReviewedTokens } from './features/authentication/cluster/reviewed-tokens.ts'
import { createTokenReview } from './features/authentication/cluster/token-review.ts'
import { withRecentCallers } from './features/authentication/recent-callers.ts'
import { createIdentities } from './features/authentication/service.ts'
import type { ConfirmAccess } from './features/oidc/confirmation.ts'
import { createPodIdentities, type PodIdentities } from './features/pods/service.ts'
import { startSessionPreload } from './features/sessions/preload.ts'
import { listGroups } from './features/users/rows.ts'
import type { Identify } from './http/auth/authenticate.ts'
import type { BreakGlass } from './http/auth/owner-token.ts'

export type CallerServices = AsyncDisposable & {
  readonly identify: Identify
  readonly gatewayCa: GatewayCa
  /** Identifies the pods that have a sidecar; null outside a cluster. */
  readonly pods: PodIdentities | null
  /** Resolves whether Kubernetes RBAC lets the members of a group answer approvals; undefined outside a cluster. */
  readonly clusterGroups: ClusterGroups | undefined
  /**
   * Resolves whether Kubernetes RBAC lets the members of approver groups answer approvals. Only groups that contain no
   * user account are reviewed.
   */
  readonly members: GroupMembers
  /** Resolves whether the user of a stored answer still has the right to give this answer. */
  readonly confirmAnswer: ConfirmAnswer
  /** Reads the certificate authorities (CAs) of client certificates; null outside a cluster. */
  readonly readClientCa: (() => Promise<readonly string[]>) | null
  /**
   * State of the owner's token (break-glass access), which a Secret of the cluster holds; null when no Secret holds the
   * token.
   */
  readonly breakGlass: BreakGlass | null
}

/**
 * Creates the services that authenticate callers, including the sidecars of a cluster. Also creates the CA that
 * issues the certificates of sidecars.
 */
export async function createCallerServices(given: {
  readonly db: Db
  readonly orgId: string
  readonly keyring: Keyring
  readonly config: ControlPlaneConfig
  readonly nowMs: number
  readonly log: Logger
  readonly confirmAccess: ConfirmAccess
}): Promise<CallerServices> {
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
    gatewayCa: createGatewayCa(given.keyring, given.nowMs),
    pods,
    ...clusterServices({ ...given, kube }),
    ...groupServices(given.db, kube),
    confirmAnswer: createConfirmAnswer({
      ...given,
      hasAnswerRight: kube === null ? null : createAnswerRight({ ...given, kube }),
    }),
    async [Symbol.asyncDispose]() {
      preload[Symbol.dispose]()
      await review?.close()
      await kube?.close()
    },
  }
}

function groupServices(db: Db, kube: KubeClient | null): Pick<CallerServices, 'clusterGroups' | 'members'> {
  if (kube === null) return { clusterGroups: undefined, members: ACCOUNTS_ONLY }
  const clusterGroups = createClusterGroups(kube)
  const nowMs = () => performance.now()
  return {
    clusterGroups,
    members: createGroupMembers({ clusterGroups, accounts: () => listGroups(db), nowMs }),
  }
}

type ClusterServicesDeps = {
  readonly db: Db
  readonly orgId: string
  readonly config: ControlPlaneConfig
  readonly kube: KubeClient | null
}

function clusterServices({
  kube,
  config,
  ...base
}: ClusterServicesDeps): Pick<CallerServices, 'readClientCa' | 'breakGlass'> {
  if (kube === null) return { readClientCa: null, breakGlass: null }
  const { adminTokenSecret: secret } = config
  return {
    readClientCa: () => readClientCas(kube),
    breakGlass: secret === null ? null : createBreakGlass({ ...base, kube, secret, nowMs: Date.now }),
  }
}
