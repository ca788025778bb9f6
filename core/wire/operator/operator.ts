import * as z from 'zod'
import { KillEntry } from '../gateway/kill.ts'
import { fieldPaths } from '../tolerant.ts'
import { ManifestOrigin } from './origin.ts'

/**
 * Paths from the operator (of a cluster or a manifests folder) to the control plane. `PUT
 * /api/operator/objects/{kind}/{namespace}/{name}` pushes one object, `DELETE` removes it; `POST /api/operator/sweep`
 * lists all existing objects and returns the differences. Authentication: the operator token as Bearer.
 * Two paths concern a single replica of the control plane, so the operator calls each replica: `POST
 * /api/operator/kill` activates or deactivates kill switches on its connected gateways, `GET /api/operator/state`
 * returns their acknowledgements.
 */
export const OPERATOR_PATHS = {
  objects: '/api/operator/objects',
  sweep: '/api/operator/sweep',
  /** `PUT` sends all namespaces of the cluster with their labels, by which Gateways admit them. */
  namespaces: '/api/operator/namespaces',
  /** `POST` sends objects that changed together. They come into force as one version. */
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

const PushFields = z.object({
  uid: z.string(),
  generation: z.number().int(),
  source: z.enum(['kubernetes', 'file']),
  /**
   * Name of the manifest that is shown when a user edits the row elsewhere, e.g. `10-codehost.yaml` or `kubernetes
   * Policy team/prod`.
   */
  managed_by: z.string(),
  resource: PushedObject,
  /** Reasons, as full sentences, why the object is invalid. The control plane refuses the object with them. */
  problems: z.array(z.string()).max(1_000).optional(),
  /**
   * Set if the document has no readable name. `policy`: it is a Policy. `unknown`: its kind is not readable either, so
   * it may be a Policy. It may also be another version of an object in the same file.
   */
  unnamed: z.enum(['policy', 'unknown']).optional(),
  /**
   * Value of the Secret that `spec.credential.secretRef` of a Connector names; null if the Secret or the key is
   * missing.
   */
  credential: z.string().nullable().optional(),
  /** Creation time in the cluster. If Connectors of several namespaces claim a host, the oldest owns it. */
  created_at: z.string().max(64).optional(),
  /** Source of the manifest, such as its file and commit. Absent if unknown. */
  origin: ManifestOrigin.optional(),
  /** Fields of this body that the control plane must understand, else it refuses the object. Others it may ignore. */
  critical: z.array(z.string().max(300)).max(64).optional(),
})
const KNOWN_FIELDS = fieldPaths(PushFields)

/** An object as the operator pushes it. A critical field that this version does not understand is a problem. */
export const PushBody = PushFields.overwrite((body) => {
  const unknown = (body.critical ?? []).filter((field) => !KNOWN_FIELDS.has(field))
  if (unknown.length === 0) return body
  const problem = `The operator uses ${unknown.join(', ')}, which this version of the control plane does not understand. Upgrade the control plane.`
  return { ...body, problems: [...(body.problems ?? []), problem] }
})

/**
 * Number of connected gateway processes of the object's Gateways, and how many of them have a state with the object.
 */
export const Acknowledged = z.object({ acked: z.number().int(), total: z.number().int() })

/** Reason why an object is not in force. The first two concern a reference, and then the object has no effect. */
export const PushProblem = z.enum([
  'GatewayNotFound',
  'NamespaceNotAllowed',
  'Invalid',
  'Conflict',
  'TestsFailed',
])

/**
 * Which version of an object is in force. `as_written`: the pushed one. All other values mean that its manifest was
 * refused.
 */
export const InForce = z.enum(['as_written', 'last_good', 'tightened', 'binding_lost', 'denied', 'nothing'])

export const PushReply = z.object({
  accepted: z.boolean(),
  /** Full sentences that state the problem and the correction. */
  reasons: z.array(z.string()),
  /** A value that only a newer control plane has counts as `Invalid`. */
  problem: PushProblem.catch('Invalid').nullable().default(null),
  /** A value that only a newer control plane has counts as `nothing`. */
  in_force: InForce.catch('nothing').default('as_written'),
  /** Warnings about an accepted object, e.g. a missing credential. */
  warnings: z.array(z.string()).default([]),
  /** First configuration version that contains the object. */
  version: z.number().int(),
  /** Gateways that the object covers, as `namespace/name`; null means all of the installation. */
  gateways: z.array(z.string()).nullable().default([]),
  /** Number of passed tests and of all tests of a Policy; null for other kinds. */
  tests: z.object({ passed: z.number().int(), total: z.number().int() }).nullable().default(null),
  /** Acknowledgements of the gateways that are connected to the answering replica. */
  acknowledged: Acknowledged.default({ acked: 0, total: 0 }),
})

/** A gateway process that is connected to the answering replica of the control plane. */
export const GatewayProcess = z.object({
  /** Name of the process's Gateway, as `namespace/name`. */
  gateway: z.string(),
  process_id: z.string(),
  /** Version of the process, such as `1.2.3`; null if it names none. */
  version: z.string().nullable().default(null),
  /** Agent of a sidecar, as `namespace/name`; null for a process that serves several agents. */
  agent: z.string().nullable().default(null),
  /** Latest configuration version that is in force in the process; null means none yet. */
  covered_version: z.number().int().nullable(),
  /** True if the process acknowledged the current kill state. */
  has_kill_state: z.boolean(),
  /** Reason why the process refused its newest configuration and keeps an older one; null if it did not. */
  rejected: z.string().nullable(),
  /** Error conditions that the process reports, as in a Gateway's status. */
  conditions: z.array(z.string()).default([]),
  /** Warnings that the process reports, as full sentences. */
  warnings: z.array(z.string()).default([]),
})

/** All namespaces of the cluster. A namespace that the list omits does not exist. */
export const NamespacesBody = z.object({
  namespaces: z
    .array(z.object({ name: z.string().min(1).max(253), labels: z.record(z.string(), z.string()) }))
    .max(20_000),
})

/** `rebound`: true if a change of namespaces changed which Gateways objects are bound to. */
export const NamespacesReply = z.object({ rebound: z.boolean() })

/** Reference to a pod of the cluster. */
export const PodRef = z.object({
  podUid: z.string().min(1).max(128),
  namespace: z.string().min(1).max(253),
  name: z.string().min(1).max(253),
})

const QUALIFIED_NAME = /^[^/\s]{1,253}\/[^/\s]{1,253}$/

const KnownPod = PodRef.extend({
  /** Agent of the pod, as `namespace/name`. */
  agent: z.string().regex(QUALIFIED_NAME, 'must be namespace/name'),
  /** Gateway of the pod, as `namespace/name`. */
  gateway: z.string().regex(QUALIFIED_NAME, 'must be namespace/name'),
})
/**
 * An injected pod according to its metadata. The first report of a UID fixes its agent and Gateway. `deleted`: the
 * object no longer exists (a `deletionTimestamp` alone is not sufficient), which is final for the UID.
 */
export const PodIdentityReport = KnownPod.extend({ deleted: z.boolean() })
export const PodsBody = z.object({ pods: z.array(PodIdentityReport).max(1_000) })
export const PodsReply = z.object({ ok: z.literal(true) })
export const KnownPods = z.object({ pods: z.array(KnownPod) })

/**
 * Query of the state. With `known`, the replica replies as soon as its state has another revision, and after
 * `STATE_WAIT_MS` in any case.
 */
export const StateQuery = z.object({ known: z.string().max(64).optional() })
export const STATE_WAIT_MS = 20_000

export const OperatorState = z.object({
  version: z.number().int(),
  /** Changes with the state, but not when all processes apply a new version. Empty for a replica without long polls. */
  revision: z.string().default(''),
  kills: z.array(KillEntry),
  processes: z.array(GatewayProcess),
  /** Pods whose sidecars the replica refuses because the operator has not reported them. */
  refused_pods: z.array(PodRef).default([]),
})

/** Limits of the kill switches of one source. Lengths in UTF-16 units. */
export const RELAYED_KILL_LIMITS = { scopes: 64, scopeLength: 300, reasonLength: 1_000 } as const

/** All kill switches of one source. An empty list of scopes means that none is active any more. */
export const KillRelayBody = z.object({
  /**
   * Source of the kill switches. `manifest:NAMESPACE/NAME`: a Gateway, where the scope `all` means that Gateway.
   * `configmap:NAMESPACE`: a namespace's ConfigMap, where `all` means `namespace:NAMESPACE`. `configmap`: the ConfigMap
   * of the installation's own namespace.
   */
  source: z.string().regex(/^(manifest:[^/\s]{1,253}\/[^/\s]{1,253}|configmap(:[^/:\s]{1,253})?)$/),
  scopes: z.array(z.string().min(1).max(RELAYED_KILL_LIMITS.scopeLength)).max(RELAYED_KILL_LIMITS.scopes),
  reason: z.string().max(RELAYED_KILL_LIMITS.reasonLength),
  by: z.string().max(600),
  /** Number that increases with every change of the object. A request with an older revision is ignored. */
  revision: z.number().int().nonnegative(),
})

export const KillRelayReply = z.object({
  /** False if the replica received a newer revision before. */
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

/** Problem of a manifest that the folder watcher refused, with file and line. Pages show it. */
export const ManifestProblem = z.object({
  file: z.string(),
  line: z.number().int().nullable(),
  message: z.string(),
})

/** Objects that come into force together as one version, or not at all. */
export const ChangeSetBody = z.object({
  source: z.enum(['kubernetes', 'file']),
  objects: z.array(PushBody).max(20_000),
  /** Objects to remove, because their manifests were deleted. */
  removed: z.array(ObjectName).max(20_000).default([]),
  /** All objects of the source. The control plane removes all others. Absent: it only removes those in `removed`. */
  present: SweepBody.shape.present.optional(),
  /** All problems of the source's files. Absent: the known problems stay unchanged. */
  problems: z.array(ManifestProblem).max(10_000).optional(),
})
export const ChangeSetReply = SweepReply.extend({
  /** Replies in the order of `objects`. */
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

/** Counts the connected processes of the object's Gateways that acknowledged its version. */
export function acknowledgedBy(
  processes: readonly GatewayProcess[],
  { version, gateways }: Pick<PushReply, 'version' | 'gateways'>,
): Acknowledged {
  const own = processes.filter(({ gateway }) => gateways === null || gateways.includes(gateway))
  const acked = own.filter(({ covered_version: covered }) => covered !== null && covered >= version)
  return { acked: acked.length, total: own.length }
}

/** Texts for the effective state of an object whose manifest was refused, for status, `doctor` and logs. */
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
