import type { GatewaySpec } from '../crd/schemas.ts'
import { GATEWAY_FLAGS } from '../gateway-flags.ts'

/** The Gateway that governs a pod: all that the injector reads of it. */
export type InjectGateway = {
  readonly namespace: string
  readonly name: string
  readonly spec: Pick<
    GatewaySpec,
    'interception' | 'hardening' | 'trust' | 'sidecar' | 'agents' | 'allowedNamespaces' | 'audit'
  >
}

/** What of an installation goes into every sidecar. */
export type SidecarImages = {
  readonly proxy: string
  /** The proxy's first program and its arguments; the image's own when it is empty. */
  readonly proxyCommand: readonly string[]
  readonly rules: string
  readonly pullPolicy: 'Always' | 'IfNotPresent' | 'Never'
}

/** Where the released image has it. Signal 1 would open the runtime's inspector on the agent's own loopback. */
export const DEFAULT_PROXY_COMMAND: readonly string[] = [
  'node',
  '--disable-sigusr1',
  ...GATEWAY_FLAGS,
  '/app/bin/sidecar.cjs',
]

export type InjectOptions = {
  /** The pod's namespace: its own metadata may not say it yet. */
  readonly namespace: string
  readonly images: SidecarImages
  readonly controlPlane: {
    readonly url: string
    /** The ConfigMap `chaperone-control-plane-ca` of the pod's namespace holds the authorities of that address. */
    readonly hasOwnCertificateAuthority: boolean
  }
  readonly logLevel: string
  /** A number picked at random in `PROXY_UIDS`, for a pod that has none to keep. */
  readonly freshUid: number
  /**
   * Whether the uid that a pod already names was given to it by an injector. A pod that just claims one is given
   * another: an image may be built to run as a uid that its author chose.
   */
  readonly keepsUid: (uid: number) => boolean
}
