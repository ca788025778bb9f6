/**
 * The closed list of condition types in the status of custom resources, with their reasons. Types of the first group
 * are always present; those of the second only while they are true.
 */
export const CONDITIONS = {
  /** The object is valid by itself, and the control plane stores it. */
  Accepted: {
    Accepted: 'it is in force as written',
    Invalid: 'the spec is invalid; the message states the problem, the correction and the state in force',
    TestsFailed: 'tests of the policy fail; the message states the version in force',
    Conflict: 'another object already owns a resource that it claims, such as a host',
    RefsNotResolved: 'see ResolvedRefs: it has no effect',
    Pending: 'the control plane has not received it yet; its last known state stays in force',
  },
  /** All referenced objects exist and admit it. */
  ResolvedRefs: {
    ResolvedRefs: 'all references are resolved',
    GatewayNotFound: 'a Gateway that it names, or any of its namespace, does not exist; it has no effect',
    NamespaceNotAllowed:
      'the Gateway does not admit its namespace in spec.allowedNamespaces; it has no effect',
    SecretNotFound: 'the Secret of its credential does not exist; requests are refused',
    SecretKeyNotFound: 'the Secret has no such key, or an empty one; requests are refused',
    SecretForbidden: 'the operator may not read Secrets of this namespace; the message names the RoleBinding',
    SecretUnreadable: 'the Secret is temporarily unreadable; the last known credential stays in use',
    Pending: 'not reconciled yet',
  },
  /** Gateways acknowledged a state that contains it; the message is `n of m`. */
  Programmed: {
    Programmed: 'every connected gateway process acknowledged it',
    Pending: 'some gateway processes have not acknowledged it yet',
    Rejected: 'a gateway refused the state and keeps the last good one',
    NoGateways: 'no gateway process is connected; it takes effect when the first one is',
    NotAccepted: 'it is not in force, so there is nothing to acknowledge',
  },
  /** The conditions Accepted, ResolvedRefs and Programmed are true. */
  Ready: {
    Ready: 'accepted, resolved and in force wherever a gateway runs',
    NotAccepted: 'see Accepted',
    RefsNotResolved: 'see ResolvedRefs',
    NotProgrammed: 'see Programmed',
    Pending: 'not reconciled yet',
  },
  /** The object works with a limitation. */
  Degraded: {
    Warnings: 'it is in force, and part of it is probably unintended',
    GatewayRejected: 'a gateway process keeps an older state because it refused this one',
    AgentShared: 'pods of another Gateway have the same agent name; the message lists them',
    PodsNotReady: 'governed pods exist whose sidecar is not ready',
  },
  /** A kill switch denies requests. */
  KillSwitchActive: {
    Gateway: 'spec.killSwitch of this Gateway',
    Emergency: 'a ConfigMap `chaperone-emergency`',
    Elsewhere: 'a kill switch of the API, the dashboard, the command line or a gateway',
  },
  /** A container could bypass the sidecar, and no rule prevents it. */
  BypassPossible: {
    Cooperative: 'interception is proxyEnv: a program that ignores its variables is not governed',
    PodsCooperative: 'some governed pods were injected with interception proxyEnv',
    PodsChangeUser:
      'some governed pods run programs that change their user and require the capabilities for it',
  },
  /** A probe, or a pod without a sidecar, shows that traffic can leave ungoverned. */
  BypassDetected: {
    CaptureBroken: 'a sidecar found that its own capture does not hold',
    PodWithoutSidecar: 'a pod that should be governed runs without its sidecar',
  },
  /** The platform team's floors in the chart override fields of the spec. */
  FloorApplied: {
    BelowFloor:
      'fields of the spec are below `floors` of the chart; the message names each and what is in force',
  },
  /** The control plane does not respond, so the status may be outdated. */
  Stale: {
    ControlPlaneUnreachable: 'the control plane does not respond; gateways continue with their last state',
  },
} as const

export type ConditionType = keyof typeof CONDITIONS
export type ConditionReason<T extends ConditionType = ConditionType> = T extends ConditionType
  ? keyof (typeof CONDITIONS)[T] & string
  : never

/** Condition types that the status always contains. It contains the others only while they are true. */
export const LASTING_CONDITIONS = ['Accepted', 'ResolvedRefs', 'Programmed', 'Ready'] as const

/** A condition as in the status of any Kubernetes object; `lastTransitionTime` is RFC 3339. */
export type Condition = {
  readonly type: ConditionType
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: ConditionReason
  readonly message: string
  readonly observedGeneration: number
  readonly lastTransitionTime: string
}

/** Kubernetes rejects longer messages. */
export const MAX_MESSAGE = 32_768
