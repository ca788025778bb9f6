import type { InjectGateway, InjectOptions } from '../../core/inject/options.ts'

/** Values of the installation and of its Gateways that the admission policies compare pods with. */
export type GuardOptions = {
  /** The namespace in which Chaperone is installed. */
  readonly ownNamespace: string
  /** The ServiceAccount of the operator, `system:serviceaccount:NAMESPACE:NAME`. */
  readonly operatorUser: string
  /** Images that the injector sets for sidecars. During an upgrade, also the images of its previous version. */
  readonly proxyImages: readonly string[]
  readonly ruleImages: readonly string[]
  readonly proxyCommand: readonly string[]
  readonly controlPlaneUrl: string
  /** Addresses of the control plane that the injectors of the replicas may set for sidecars. */
  readonly controlPlaneAddresses: readonly string[]
  readonly dns: InjectOptions['dns']
  /**
   * Values of the variable with the search domains of the nodes that the injectors of the replicas may set for sidecars:
   * the replicas may run on nodes with different domains.
   */
  readonly searchDomains: readonly string[]
  /** `namespace/name` of the Gateways with `interception: proxyEnv`. Pods of these Gateways have no nftables rules. */
  readonly cooperativeGateways: readonly string[]
  /**
   * `namespace/name` of those Gateways with `interception: auto` that admit pods under gVisor without nftables rules.
   */
  readonly autoGateways: readonly string[]
  /**
   * Names of the RuntimeClasses of gVisor. In pods of these classes, the init container that sets the capture rules may
   * run as root.
   */
  readonly gvisorRuntimeClasses: readonly string[]
  /** `namespace/name` of the Gateways with `hardening: strict`. */
  readonly strictGateways: readonly string[]
  /** `namespace/name` of the Gateways with `inbound: deny`. */
  readonly inboundDenied: readonly string[]
  /** Seccomp profile of the agents of a Gateway, by `namespace/name` of the Gateways that demand one. */
  readonly seccompProfiles: ReadonlyArray<readonly [gateway: string, profile: string]>
}

export type GatewayOptions =
  | 'cooperativeGateways'
  | 'autoGateways'
  | 'strictGateways'
  | 'inboundDenied'
  | 'seccompProfiles'

export type Installation = Omit<GuardOptions, GatewayOptions> & {
  /**
   * True if the installation keeps a NetworkPolicy that isolates pods with `interception: proxyEnv`; default
   * false.
   */
  readonly isolatesProxyEnv?: boolean
}

/** Returns the options for the given Gateways. The order of the Gateways has no effect. */
export function guardOptions(installation: Installation, gateways: readonly InjectGateway[]): GuardOptions {
  const names = (matches: (spec: InjectGateway['spec']) => boolean) =>
    gateways
      .filter(({ spec }) => matches(spec))
      .map(({ namespace, name }) => `${namespace}/${name}`)
      .sort()
  const { isolatesProxyEnv, ...values } = installation
  return {
    ...values,
    cooperativeGateways: names(({ interception }) => interception === 'proxyEnv'),
    autoGateways: names(
      ({ interception, hardening, autoAllows }) =>
        interception === 'auto' &&
        hardening !== 'strict' &&
        (isolatesProxyEnv === true || autoAllows.includes('proxyEnv')),
    ),
    strictGateways: names(({ hardening }) => hardening === 'strict'),
    inboundDenied: names(({ inbound }) => inbound === 'deny'),
    seccompProfiles: gateways
      .flatMap(({ namespace, name, spec }) => {
        const profile = spec.agents?.seccompProfile
        return profile === undefined ? [] : [[`${namespace}/${name}`, profile] as const]
      })
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  }
}
