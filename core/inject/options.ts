import type { GatewaySpec } from '../crd/gateway/gateway-spec.ts'
import { GATEWAY_FLAGS } from '../gateway-flags.ts'
import type { Isolation } from './interception.ts'
import type { Runtime } from './runtime.ts'
import type { PodIdentity } from './sandbox.ts'

/** Gateway that governs a pod, reduced to the fields that the injector reads. */
export type InjectGateway = {
  readonly namespace: string
  readonly name: string
  readonly spec: Pick<
    GatewaySpec,
    | 'interception'
    | 'autoAllows'
    | 'hardening'
    | 'inbound'
    | 'trust'
    | 'sidecar'
    | 'agents'
    | 'allowedNamespaces'
    | 'audit'
  >
}

/** Images and commands of the injected containers, the same for all pods of an installation. */
export type SidecarImages = {
  readonly proxy: string
  /** Program of the proxy with its arguments. If empty, the image's own command applies. */
  readonly proxyCommand: readonly string[]
  readonly rules: string
  readonly pullPolicy: 'Always' | 'IfNotPresent' | 'Never'
  /** Names of Secrets in the namespace of the pod, which the kubelet uses for the images. Default: none. */
  readonly pullSecrets?: readonly string[]
}

/**
 * Command of the released proxy image. Without `--disable-sigusr1`, SIGUSR1 would open the Node inspector on the
 * loopback interface that the agent shares.
 */
export const DEFAULT_PROXY_COMMAND: readonly string[] = [
  'node',
  '--disable-sigusr1',
  ...GATEWAY_FLAGS,
  '/app/bin/sidecar.cjs',
]

export type InjectOptions = {
  /** Namespace of the pod. It is passed separately, because `metadata` of a pod may omit it. */
  readonly namespace: string
  readonly images: SidecarImages
  readonly controlPlane: {
    readonly url: string
    /**
     * True if the ConfigMap `chaperone-control-plane-ca` in the pod's namespace contains the certificate authorities
     * for the control plane's URL.
     */
    readonly hasOwnCertificateAuthority: boolean
    /**
     * Address of the control plane, which sidecars use if DNS does not answer. Absent or null if none is configured.
     */
    readonly address?: string | null
  }
  /** DNS settings of the proxy. The DNS settings of the pod do not affect them. */
  readonly dns: {
    /** Addresses of DNS servers, `IP` or `IP:PORT`, in the order of preference. */
    readonly resolvers: readonly string[]
    /** Domain of the cluster's Services, such as `cluster.local`. */
    readonly clusterDomain: string
    /**
     * Search domains of the nodes, such as `ec2.internal`, which the kubelet appends to those of the cluster. Absent or
     * empty if there are none.
     */
    readonly searchDomains?: readonly string[]
  }
  readonly logLevel: string
  /** `OTEL_RESOURCE_ATTRIBUTES` of the sidecar; absent or null if there are none. */
  readonly resourceAttributes?: string | null
  /** Runtime of the pod; absent if the capture rules for runc apply. */
  readonly runtime?: Runtime | undefined
  /** State of the NetworkPolicy around pods with `proxyEnv`; default: the installation has none. */
  readonly isolation?: Isolation | undefined
  /** Agent and workload of the pod of a Sandbox. Absent for other pods, whose own metadata names the agent. */
  readonly identity?: PodIdentity | undefined
  /** Random number in `PROXY_UIDS`, for a pod that has no uid for its proxy yet. */
  readonly freshUid: number
  /**
   * Reports whether an injector assigned the proxy uid that the pod has. A pod that merely claims a uid receives
   * another one, because the author may have built an image that runs with the claimed uid.
   */
  readonly keepsUid: (uid: number) => boolean
}
