import type { GatewaySpec } from '../crd/schemas.ts'
import { GATEWAY_FLAGS } from '../gateway-flags.ts'

/** The Gateway that governs a pod, reduced to the fields that the injector reads. */
export type InjectGateway = {
  readonly namespace: string
  readonly name: string
  readonly spec: Pick<
    GatewaySpec,
    'interception' | 'hardening' | 'trust' | 'sidecar' | 'agents' | 'allowedNamespaces' | 'audit'
  >
}

/** Images and commands of all sidecars of an installation. */
export type SidecarImages = {
  readonly proxy: string
  /** The proxy's program and its arguments; empty for those of the image. */
  readonly proxyCommand: readonly string[]
  readonly rules: string
  readonly pullPolicy: 'Always' | 'IfNotPresent' | 'Never'
}

/** Program of the released image. Without the flag, signal 1 opens the runtime's inspector on the agent's loopback. */
export const DEFAULT_PROXY_COMMAND: readonly string[] = [
  'node',
  '--disable-sigusr1',
  ...GATEWAY_FLAGS,
  '/app/bin/sidecar.cjs',
]

export type InjectOptions = {
  /** The pod's namespace: its own metadata may lack it. */
  readonly namespace: string
  readonly images: SidecarImages
  readonly controlPlane: {
    readonly url: string
    /**
     * The ConfigMap `chaperone-control-plane-ca` of the pod's namespace contains the certificate authorities of that
     * URL.
     */
    readonly hasOwnCertificateAuthority: boolean
  }
  readonly logLevel: string
  /** A random number in `PROXY_UIDS`, for a pod without a uid to keep. */
  readonly freshUid: number
  /**
   * True if an injector assigned the uid that the pod already has. A pod that merely claims one receives another: an
   * image may be built to run with a uid that its author chose.
   */
  readonly keepsUid: (uid: number) => boolean
}
