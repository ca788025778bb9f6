/** What the guard's policies compare pods with: this installation, and the Gateways that ask for something special. */
export type GuardOptions = {
  /** Where Chaperone itself runs. */
  readonly ownNamespace: string
  /** The ServiceAccount of the operator, `system:serviceaccount:NAMESPACE:NAME`. */
  readonly operatorUser: string
  /** Images that the injector uses now, and those of the version before while it is being replaced. */
  readonly proxyImages: readonly string[]
  readonly ruleImages: readonly string[]
  readonly proxyCommand: readonly string[]
  readonly controlPlaneUrl: string
  /** `namespace/name` of the Gateways with `interception: proxyEnv`: their pods have no rules. */
  readonly cooperativeGateways: readonly string[]
  /** `namespace/name` of the Gateways with `hardening: strict`. */
  readonly strictGateways: readonly string[]
}
