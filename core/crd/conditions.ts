/**
 * Closed list of the condition types in the status of custom resources, with their reasons. The schema accepts any
 * type and reason, so that an operator that is newer than its CRDs can write its status.
 */
export const CONDITIONS = {
  /** Accepted: the object is valid by itself, and the control plane stores it. */
  Accepted: {
    Accepted: 'the object is in force as written',
    Invalid:
      'the spec is invalid; the message states the problem, its correction and the version that is in force',
    TestsFailed: 'a test of the policy fails; the message states the version that is in force',
    Conflict: 'another object already owns a resource that this object claims, such as a host',
    RefsNotResolved:
      'the object has no effect, because a reference is not resolved; see the condition ResolvedRefs',
    Pending: 'the control plane has not received the object yet; its last known state stays in force',
  },
  /** ResolvedRefs: all referenced objects exist, and admit the object. */
  ResolvedRefs: {
    ResolvedRefs: 'all references are resolved',
    GatewayNotFound:
      'the object has no effect, because a Gateway that it names does not exist, or its namespace has no Gateway',
    NamespaceNotAllowed:
      'the object has no effect, because spec.allowedNamespaces of the Gateway does not admit its namespace',
    SecretNotFound: 'the Secret of the credential does not exist; requests are refused',
    SecretKeyNotFound: 'the key of the Secret is missing or empty; requests are refused',
    SecretForbidden:
      'the operator may not read Secrets of this namespace; the message names the RoleBinding that is missing',
    SecretUnreadable: 'the Secret is temporarily unreadable; the last known credential stays in use',
    Pending: 'the object is not reconciled yet',
  },
  /**
   * Programmed: the control plane publishes the generation of the object that the status describes. The status of the
   * Gateway shows whether gateways have applied that generation.
   */
  Programmed: {
    Programmed: 'the control plane publishes this generation of the object to its gateways',
    NotAccepted:
      'the control plane does not publish this generation of the object; see the condition Accepted',
    Pending: 'the control plane has not received this generation of the object yet',
  },
  /** Ready: the conditions Accepted, ResolvedRefs and Programmed are true. */
  Ready: {
    Ready: 'the object is accepted, resolved and published',
    NotAccepted: 'see Accepted',
    RefsNotResolved: 'see ResolvedRefs',
    Pending: 'the object is not reconciled yet',
  },
  /** Degraded: the object works with a limitation. */
  Degraded: {
    AsExpected: 'no limitation is known',
    Warnings: 'the object is in force, but part of it is probably unintended',
    CredentialSourceFailed:
      'the control plane could not refresh the credential of the Connector; the last credential is sent until it expires, and the message has the error',
    GatewayRejected:
      'a gateway process refused the configuration and keeps an older one; the message names the process',
    GatewayLagging:
      'a gateway process has not applied the published configuration for over 60 s; the message names the process',
    CaptureFailed:
      'the capture rules of a governed pod could not be set, so its agent does not start; the message has the reason',
    AgentShared:
      'pods of another Gateway have the same agent name, but an agent belongs to one Gateway; the message lists them',
    SidecarNotConnected:
      'the sidecar of a governed pod has had no connection to the control plane for over 60 s; the message names the pod and, for a pod in the namespace of the Gateway, the NetworkPolicy rule that is missing',
    PodsNotReady: 'the sidecar of a governed pod has not been ready for over 60 s; the message names the pod',
    DefinitionOutdated:
      'the custom resource definition is older than the operator; the message names the fields that the status lacks',
  },
  /** Stale: the control plane does not respond, so the status may be outdated. */
  Stale: {
    ControlPlaneReachable: 'the control plane responds',
    ControlPlaneUnreachable: 'the control plane does not respond; gateways continue with their last state',
  },
  /** KillSwitchActive: a kill switch denies requests of the Gateway. */
  KillSwitchActive: {
    NotActive: 'no kill switch denies requests of this Gateway',
    Gateway: 'spec.killSwitch of this Gateway denies requests',
    Emergency: 'a ConfigMap `chaperone-emergency` denies requests',
    Elsewhere:
      'a kill switch that was activated by the API, the dashboard, the command line or a gateway denies requests',
  },
  /** BypassPossible: settings of the Gateway or of its pods may allow programs to bypass their sidecar. */
  BypassPossible: {
    NoneKnown: 'no bypass of the sidecars is known',
    Cooperative: 'interception is proxyEnv, so a program that ignores the proxy variables is not governed',
    PodsCooperative:
      'some governed pods have interception proxyEnv, so their programs can ignore the proxy variables',
    PodsIsolated:
      'a NetworkPolicy isolates pods with interception proxyEnv, so a program that ignores the proxy variables can reach only the addresses that the sidecar can reach',
    ImageUserUnknown:
      'some governed pods have containers without a numeric runAsUser, so the image chooses the user, which may be the user of the sidecar',
    VsockAdmitted:
      'some governed pods do not have the seccomp profile of spec.agents.seccompProfile, so they may open AF_VSOCK sockets to the hypervisor of the node; the default profile of older container runtimes allows it',
    PodsAdmitInbound:
      'some governed pods were created before inbound was deny, so other pods can connect to them; the message names these governed pods',
    PodsChangeUser:
      'some governed pods run programs that change their user, which fails, because governed containers lack the capabilities to do so',
  },
  /** BypassDetected: a probe, or a pod without a sidecar, shows that traffic can leave ungoverned. */
  BypassDetected: {
    NoneDetected: 'no probe and no pod shows ungoverned traffic',
    CaptureBroken: 'a sidecar detected that programs can bypass its traffic capture',
    ProxyUserShared:
      'another process of the pod runs as the user of the sidecar, so its traffic is not captured',
    PodWithoutSidecar: 'a pod that should be governed runs without its sidecar, or with one that was changed',
  },
  /**
   * FloorApplied: the spec is weaker than a minimum that the platform team sets in `floors` of the chart, so the
   * minimum applies.
   */
  FloorApplied: {
    AboveFloors: 'no field of the spec is weaker than the minimum in `floors` of the chart',
    BelowFloor:
      'fields of the spec are weaker than the minimum in `floors` of the chart; the message names each field and the value in force',
  },
} as const

export type ConditionType = keyof typeof CONDITIONS
export type ConditionReason<T extends ConditionType = ConditionType> = T extends ConditionType
  ? keyof (typeof CONDITIONS)[T] & string
  : never

/** Condition as in the status of any Kubernetes object. `lastTransitionTime` is in RFC 3339. */
export type Condition = {
  readonly type: ConditionType
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: ConditionReason
  readonly message: string
  readonly observedGeneration: number
  readonly lastTransitionTime: string
}

/** Maximum length of a condition's message in characters; the API server rejects longer messages. */
export const MAX_MESSAGE = 32_768
