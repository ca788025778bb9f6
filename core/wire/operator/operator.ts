import * as z from 'zod'
import { KillEntry } from '../gateway/kill.ts'
import { ManifestOrigin } from './origin.ts'

/**
 * Operator (cluster or manifests folder) -> control plane. `PUT /api/operator/objects/{kind}/{namespace}/{name}` pushes
 * one object, `DELETE` removes it; `POST /api/operator/sweep` lists all existing objects and returns the differences.
 * Bearer: operator token.
 *
 * Two calls concern a single replica of the control plane and are sent to each: `POST /api/operator/kill` activates or
 * deactivates kill switches on its connected gateways, `GET /api/operator/state` returns their acknowledgements.
 */
export const OPERATOR_PATHS = {
  objects: '/api/operator/objects',
  sweep: '/api/operator/sweep',
  /** `PUT` all namespaces of the cluster with their labels, by which Gateways admit them. */
  namespaces: '/api/operator/namespaces',
  /** `POST` objects that changed together: they come into force as one version. */
  changes: '/api/operator/changes',
  kill: '/api/operator/kill',
  state: '/api/operator/state',
  /** `POST` reports pods with a sidecar; `GET` returns those that the control plane considers existing. */
  pods: '/api/operator/pods',
} as const

const ObjectName = z.object({ kind: z.string(), namespace: z.string(), name: z.string() })

/** A manifest object as written. The control plane validates `spec` by the schema of its kind. */
const PushedObject = z.object({
  apiVersion: z.string(),
  kind: z.enum(['Gateway', 'Connector', 'Permission', 'Policy']),
  metadata: z.looseObject({
    name: z.string().min(1).max(253),
    namespace: z.string().min(1).max(253).optional(),
  }),
  spec: z.unknown(),
})

export const PushBody = z.object({
  uid: z.string(),
  generation: z.number().int(),
  source: z.enum(['kubernetes', 'file']),
  /** Shown when a user tries to edit the row elsewhere, e.g. `10-codehost.yaml` or `kubernetes Policy team/prod`. */
  managed_by: z.string(),
  resource: PushedObject,
  /** Reasons, as full sentences, why the object is invalid: the control plane refuses it with them. */
  problems: z.array(z.string()).max(1_000).optional(),
  /**
   * The document has no readable name, or (`unknown`) no kind either, so it may be a Policy. It may also be another
   * version of an object of the same file.
   */
  unnamed: z.enum(['policy', 'unknown']).optional(),
  /** The resolved value of `spec.credential.secretRef` of a Connector; null if the Secret or key is missing. */
  credential: z.string().nullable().optional(),
  /** Creation time in the cluster; between namespaces the older Connector owns a host. */
  created_at: z.string().max(64).optional(),
  /** Source of the manifest. Absent if unknown. */
  origin: ManifestOrigin.optional(),
})

/** Connected gateway processes of the object's Gateways that hold a state with the object, and their total. */
export const Acknowledged = z.object({ acked: z.number().int(), total: z.number().int() })

/** Reason why an object is not in force; the first two are reference problems, and then it has no effect. */
export const PushProblem = z.enum([
  'GatewayNotFound',
  'NamespaceNotAllowed',
  'Invalid',
  'Conflict',
  'TestsFailed',
])

/** Effective state of an object. For all values but the first, its manifest was refused. */
export const InForce = z.enum(['as_written', 'last_good', 'tightened', 'binding_lost', 'denied', 'nothing'])

export const PushReply = z.object({
  accepted: z.boolean(),
  /** Full sentences with the problem and the correction. */
  reasons: z.array(z.string()),
  problem: PushProblem.nullable().default(null),
  in_force: InForce.default('as_written'),
  /** Warnings that do not prevent acceptance, e.g. a missing credential. */
  warnings: z.array(z.string()).default([]),
  /** The first configuration version that contains it. */
  version: z.number().int(),
  /** `namespace/name` of its Gateways; null means all of the installation. */
  gateways: z.array(z.string()).nullable().default([]),
  /** For a Policy. */
  tests: z.object({ passed: z.number().int(), total: z.number().int() }).nullable().default(null),
  /** Acknowledgements of the gateways of the answering replica. */
  acknowledged: Acknowledged.default({ acked: 0, total: 0 }),
})

/** One connected gateway process, as known to one replica of the control plane. */
export const GatewayProcess = z.object({
  /** `namespace/name` of its Gateway. */
  gateway: z.string(),
  process_id: z.string(),
  /** Configuration up to this version is in force there; null means none yet. */
  covered_version: z.number().int().nullable(),
  /** It acknowledged the current kill state. */
  has_kill_state: z.boolean(),
  /** Reason why it refused its newest configuration and keeps an older one; null if it did not. */
  rejected: z.string().nullable(),
  /** Error conditions that it reports, as in a Gateway's status. */
  conditions: z.array(z.string()).default([]),
  /** Full sentences that it reports. */
  warnings: z.array(z.string()).default([]),
})

/** All namespaces of the cluster; others do not exist. */
export const NamespacesBody = z.object({
  namespaces: z
    .array(z.object({ name: z.string().min(1).max(253), labels: z.record(z.string(), z.string()) }))
    .max(20_000),
})

/** True if the binding of objects changed. */
export const NamespacesReply = z.object({ rebound: z.boolean() })

/** A pod of the cluster. */
export const PodRef = z.object({
  podUid: z.string().min(1).max(128),
  namespace: z.string().min(1).max(253),
  name: z.string().min(1).max(253),
})

const QUALIFIED_NAME = /^[^/\s]{1,253}\/[^/\s]{1,253}$/

const KnownPod = PodRef.extend({
  /** `namespace/name`. */
  agent: z.string().regex(QUALIFIED_NAME, 'must be namespace/name'),
  /** `namespace/name`. */
  gateway: z.string().regex(QUALIFIED_NAME, 'must be namespace/name'),
})
/**
 * An injected pod, from its metadata. The first report of a UID fixes its agent and Gateway. `deleted`: the object is
 * gone (a `deletionTimestamp` alone is not sufficient), which is final for the UID.
 */
export const PodIdentityReport = KnownPod.extend({ deleted: z.boolean() })
export const PodsBody = z.object({ pods: z.array(PodIdentityReport).max(1_000) })
export const PodsReply = z.object({ ok: z.literal(true) })
export const KnownPods = z.object({ pods: z.array(KnownPod) })

export const OperatorState = z.object({
  version: z.number().int(),
  kills: z.array(KillEntry),
  processes: z.array(GatewayProcess),
  /** Pods whose sidecars this replica refuses, because the operator has not reported them. */
  refused_pods: z.array(PodRef).default([]),
})

/** Limits of the kill switches of one source. Lengths in UTF-16 units. */
export const RELAYED_KILL_LIMITS = { scopes: 64, scopeLength: 300, reasonLength: 1_000 } as const

/** All kill switches of one source; no scopes means that none is active any more. */
export const KillRelayBody = z.object({
  /**
   * `manifest:NAMESPACE/NAME` of a Gateway, where `all` means all of that Gateway; `configmap:NAMESPACE` of a ConfigMap,
   * where it means `namespace:NAMESPACE`; `configmap` of the installation's own one.
   */
  source: z.string().regex(/^(manifest:[^/\s]{1,253}\/[^/\s]{1,253}|configmap(:[^/:\s]{1,253})?)$/),
  scopes: z.array(z.string().min(1).max(RELAYED_KILL_LIMITS.scopeLength)).max(RELAYED_KILL_LIMITS.scopes),
  reason: z.string().max(RELAYED_KILL_LIMITS.reasonLength),
  by: z.string().max(600),
  /** Increases with every change of the object; a request with an older revision is ignored. */
  revision: z.number().int().nonnegative(),
})

export const KillRelayReply = z.object({
  /** False if a newer revision was received before. */
  applied: z.boolean(),
  effective: z.array(KillEntry),
  acknowledged: z.object({ acked: z.number().int(), total: z.number().int(), ms: z.number() }),
  /** Present if a kill switch is in force on connected gateways and not stored yet. */
  warning: z.string().optional(),
})

export const SweepBody = z.object({
  source: z.enum(['kubernetes', 'file']),
  present: z.array(z.object({ kind: z.string(), namespace: z.string(), name: z.string(), uid: z.string() })),
})
export const SweepReply = z.object({
  removed: z.number().int(),
  missing: z.array(ObjectName),
})

/** A manifest that the folder watcher refused, by file and line; shown to users. */
export const ManifestProblem = z.object({
  file: z.string(),
  line: z.number().int().nullable(),
  message: z.string(),
})

/** Comes into force completely as one version, or not at all. */
export const ChangeSetBody = z.object({
  source: z.enum(['kubernetes', 'file']),
  objects: z.array(PushBody).max(20_000),
  /** Objects whose manifests were deleted. */
  removed: z.array(ObjectName).max(20_000).default([]),
  /** All objects of the source: others are removed. Absent: only `removed` is removed. */
  present: SweepBody.shape.present.optional(),
  /** All problems of the source's files. Absent: they stay unchanged. */
  problems: z.array(ManifestProblem).max(10_000).optional(),
})
export const ChangeSetReply = SweepReply.extend({
  /** In the order of `objects`. */
  replies: z.array(PushReply),
})

export type PushedObject = z.infer<typeof PushedObject>
export type InForce = z.infer<typeof InForce>
export type ChangeSetBody = z.infer<typeof ChangeSetBody>
export type ChangeSetReply = z.infer<typeof ChangeSetReply>
export type PushBody = z.infer<typeof PushBody>
export type PushReply = z.infer<typeof PushReply>
export type PushProblem = z.infer<typeof PushProblem>
export type Acknowledged = z.infer<typeof Acknowledged>
export type GatewayProcess = z.infer<typeof GatewayProcess>
export type OperatorState = z.infer<typeof OperatorState>
export type NamespacesBody = z.infer<typeof NamespacesBody>
export type NamespacesReply = z.infer<typeof NamespacesReply>
export type PodRef = z.infer<typeof PodRef>
export type KnownPod = z.infer<typeof KnownPod>
export type PodIdentityReport = z.infer<typeof PodIdentityReport>
export type KillRelayBody = z.infer<typeof KillRelayBody>
export type KillRelayReply = z.infer<typeof KillRelayReply>
export type SweepBody = z.infer<typeof SweepBody>
export type SweepReply = z.infer<typeof SweepReply>
export type ManifestProblem = z.infer<typeof ManifestProblem>

/** Counts the connected processes of the object's Gateways that acknowledged it. */
export function acknowledgedBy(
  processes: readonly GatewayProcess[],
  { version, gateways }: Pick<PushReply, 'version' | 'gateways'>,
): Acknowledged {
  const own = processes.filter(({ gateway }) => gateways === null || gateways.includes(gateway))
  const acked = own.filter(({ covered_version: covered }) => covered !== null && covered >= version)
  return { acked: acked.length, total: own.length }
}

/** Effective state of an object whose manifest was refused, for status, `doctor` and logs. */
export const IN_FORCE_TEXT: Readonly<Record<InForce, string>> = {
  as_written: 'it is in force as written',
  last_good: 'its last accepted version stays in force',
  tightened:
    'its text in force no longer compiles: a condition that does not compile counts as one that cannot be evaluated, so it can only tighten',
  binding_lost:
    'the Gateway no longer admits it: its denies and holds stay in force for agents of its own namespace until it is changed, deleted or admitted again',
  denied: 'it was never in force: everything in its scope is denied (policy_invalid) until it is corrected',
  nothing: 'it has no effect',
}
