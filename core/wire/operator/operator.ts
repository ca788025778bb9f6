import * as z from 'zod'
import { MAX_FIELD_PATH } from '../../crd/manifests/field-lines.ts'
import { KillEntry } from '../gateway/kill.ts'
import { fieldPaths } from '../schema/tolerant.ts'
import { ManifestOrigin } from './origin.ts'
import { PodRef } from './pods.ts'

/**
 * Paths of requests from the operator (of a cluster or a manifests folder) to the control plane. All requests have the
 * operator token as Bearer token. `PUT {objects}/{kind}/{namespace}/{name}` pushes one object, `DELETE` removes it.
 * `POST {sweep}` sends the names of all existing objects and returns the differences. Two paths concern one replica of
 * the control plane, so the operator calls each replica: `POST {kill}` activates or deactivates kill switches on the
 * gateways that are connected to the replica, `GET {state}` returns the acknowledgements of these gateways.
 */
export const OPERATOR_PATHS = {
  objects: '/api/operator/objects',
  sweep: '/api/operator/sweep',
  /** `PUT` sends all namespaces of the cluster with their labels, for `allowedNamespaces` of Gateways. */
  namespaces: '/api/operator/namespaces',
  /** `POST` sends objects that changed together. The control plane puts them in force as one version. */
  changes: '/api/operator/changes',
  kill: '/api/operator/kill',
  state: '/api/operator/state',
  /** `POST` reports pods with a sidecar. `GET` returns the pods that exist according to the control plane. */
  pods: '/api/operator/pods',
  /** `GET` returns the grants in force, each as the Permission that shows it in the cluster. */
  grants: '/api/operator/grants',
} as const

const ObjectName = z.object({ kind: z.string(), namespace: z.string(), name: z.string() })

/** Manifest object as written. The control plane validates `spec` by the schema of the object's kind. */
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
  /** Displayed name of the manifest, such as `10-codehost.yaml` or `kubernetes Policy team/prod`. */
  managed_by: z.string(),
  resource: PushedObject,
  /** Reasons, as full sentences, why the object is invalid. The control plane refuses the object for these reasons. */
  problems: z.array(z.string()).max(1_000).optional(),
  /**
   * Set if the document has no readable name. `policy`: the document is a Policy. `unknown`: its kind is not readable
   * either, so it may be a Policy. The document may also be another version of an object in the same file.
   */
  unnamed: z.enum(['policy', 'unknown']).optional(),
  /** Value from the Secret in `spec.credential.secretRef` of a Connector. Null if the Secret or its key is missing. */
  credential: z.string().nullable().optional(),
  /** Creation time in the cluster. If Connectors of several namespaces claim a host, the oldest of them owns it. */
  created_at: z.string().max(64).optional(),
  /** Source of the manifest, such as its file and commit. Absent if unknown. */
  origin: ManifestOrigin.optional(),
  /** Lines of the fields in a manifest file, by path (`FieldLines`). Absent for objects of a cluster. */
  lines: z.record(z.string().max(MAX_FIELD_PATH), z.number().int()).optional(),
  /**
   * Fields of this body that the control plane must support, or else it refuses the object. The control plane may
   * ignore all other unknown fields.
   */
  critical: z.array(z.string().max(300)).max(64).optional(),
})
const KNOWN_FIELDS = fieldPaths(PushFields)

/** Schema of a pushed object. A critical field that this version does not support becomes a problem of the object. */
export const PushBody = PushFields.overwrite((body) => {
  const unknown = (body.critical ?? []).filter((field) => !KNOWN_FIELDS.has(field))
  if (unknown.length === 0) return body
  const problem = `The operator uses ${unknown.join(', ')}, which this version of the control plane does not understand. Upgrade the control plane.`
  return { ...body, problems: [...(body.problems ?? []), problem] }
})

/**
 * `total`: number of connected gateway processes of the object's Gateways. `acked`: number of those processes in which
 * the object is in force.
 */
export const Acknowledged = z.object({ acked: z.number().int(), total: z.number().int() })

/**
 * Reason why an object is refused, or why one of its references to Gateways has no effect (`GatewayNotFound`,
 * `NamespaceNotAllowed`). `InForce` states which version of a refused object is in force.
 */
export const PushProblem = z.enum([
  'GatewayNotFound',
  'NamespaceNotAllowed',
  'Invalid',
  'Conflict',
  'TestsFailed',
])

/** Version of an object that is in force. An accepted object always has `as_written` (see `IN_FORCE_TEXT`). */
export const InForce = z.enum(['as_written', 'last_good', 'tightened', 'binding_lost', 'denied', 'nothing'])

export const PushReply = z.object({
  accepted: z.boolean(),
  /** Full sentences that state the problem and the correction. */
  reasons: z.array(z.string()),
  /**
   * Reason of the refusal, or problem of the first ineffective Gateway reference of an accepted object; else null. A
   * value that only a newer control plane has counts as `Invalid`.
   */
  problem: PushProblem.catch('Invalid').nullable().default(null),
  /** Version in force. A value that only a newer control plane has counts as `nothing`. */
  in_force: InForce.catch('nothing').default('as_written'),
  /** Warnings about an accepted object, such as a missing credential. */
  warnings: z.array(z.string()).default([]),
  /** First configuration version that contains the object. */
  version: z.number().int(),
  /** Gateways that the object covers, as `namespace/name`; null for all Gateways of the installation. */
  gateways: z.array(z.string()).nullable().default([]),
  /** Number of passed tests and number of all tests of a Policy; null for other kinds. */
  tests: z.object({ passed: z.number().int(), total: z.number().int() }).nullable().default(null),
  /** Acknowledgements of the gateway processes that are connected to the answering replica. */
  acknowledged: Acknowledged.default({ acked: 0, total: 0 }),
})

/** Gateway process that is connected to the answering replica of the control plane. */
export const GatewayProcess = z.object({
  /** Name of the process's Gateway, as `namespace/name`. */
  gateway: z.string(),
  process_id: z.string(),
  /** Version of the process, such as `1.2.3`; null if the process does not send one. */
  version: z.string().nullable().default(null),
  /** Agent of the sidecar, as `namespace/name`; null for a process that serves several agents. */
  agent: z.string().nullable().default(null),
  /** UID of the sidecar's pod; null for a process outside a pod, and from older control planes. */
  pod_uid: z.string().nullable().default(null),
  /** Latest configuration version in force in the process; null if none is in force yet. */
  covered_version: z.number().int().nullable(),
  /** True if the process acknowledged the current kill state. */
  has_kill_state: z.boolean(),
  /** Reason why the process refused its newest configuration and keeps an older one; null if it applied the newest. */
  rejected: z.string().nullable(),
  /** Error conditions that the process reports, as in a Gateway's status. */
  conditions: z.array(z.string()).default([]),
  /** Warnings that the process reports, as full sentences. */
  warnings: z.array(z.string()).default([]),
})

/** All namespaces of the cluster. A namespace that is not in the list does not exist. */
export const NamespacesBody = z.object({
  namespaces: z
    .array(z.object({ name: z.string().min(1).max(253), labels: z.record(z.string(), z.string()) }))
    .max(20_000),
})

/** Response to `NamespacesBody`. `rebound` is true if an object is now in force on other Gateways than before. */
export const NamespacesReply = z.object({ rebound: z.boolean() })

/**
 * Query for the state of a replica. With `known`, the replica responds as soon as the revision of its state differs
 * from `known`, at the latest after `STATE_WAIT_MS`. With `only=kills`, the state and its revision cover only the kill
 * switches, without processes or pods.
 */
export const StateQuery = z.object({
  known: z.string().max(64).optional(),
  only: z.enum(['kills']).optional(),
})
export const STATE_WAIT_MS = 20_000

/** Connector of the cluster whose credential the control plane could not refresh. */
export const FailingCredential = z.object({
  /** Name of the Connector, as `namespace/name`. */
  connector: z.string(),
  /** Error of the credential's source as full sentences, without secrets. */
  error: z.string(),
})

export const OperatorState = z.object({
  version: z.number().int(),
  /**
   * Revision of the state. For a process, it covers only whether the process has applied the newest version, so it
   * stays the same when every process applies a new version. Empty for a replica without long polls.
   */
  revision: z.string().default(''),
  kills: z.array(KillEntry),
  processes: z.array(GatewayProcess),
  /** Pods whose sidecars the replica refuses, because the operator has not reported the pods. */
  refused_pods: z.array(PodRef).default([]),
  /** Connectors whose credential could not be refreshed. Empty for a control plane that does not report them. */
  failing_credentials: z.array(FailingCredential).default([]),
})

/** Limits for the kill switches of one source. Lengths are in UTF-16 code units. */
export const RELAYED_KILL_LIMITS = { scopes: 64, scopeLength: 300, reasonLength: 1_000 } as const

/** All kill switches of one source. An empty list of scopes makes all kill switches of the source inactive. */
export const KillRelayBody = z.object({
  /**
   * Source of the kill switches. `manifest:NAMESPACE/NAME` is a Gateway, where the scope `all` means that Gateway.
   * `configmap:NAMESPACE` is the ConfigMap of a namespace, where `all` means `namespace:NAMESPACE`. `configmap` is the
   * ConfigMap in the installation's own namespace.
   */
  source: z.string().regex(/^(manifest:[^/\s]{1,253}\/[^/\s]{1,253}|configmap(:[^/:\s]{1,253})?)$/),
  scopes: z.array(z.string().min(1).max(RELAYED_KILL_LIMITS.scopeLength)).max(RELAYED_KILL_LIMITS.scopes),
  reason: z.string().max(RELAYED_KILL_LIMITS.reasonLength),
  by: z.string().max(600),
  /**
   * Number that increases with every change of the source object. The control plane ignores a request with an older
   * revision.
   */
  revision: z.number().int().nonnegative(),
})

export const KillRelayReply = z.object({
  /** False if the replica has already received a newer revision. */
  applied: z.boolean(),
  effective: z.array(KillEntry),
  acknowledged: z.object({ acked: z.number().int(), total: z.number().int(), ms: z.number() }),
  /** Warning; present if a kill switch is in force on connected gateways, but not stored yet. */
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

/** Problem, with file and line, of a manifest that the folder watcher refused. The dashboard shows the problem. */
export const ManifestProblem = z.object({
  file: z.string(),
  line: z.number().int().nullable(),
  message: z.string(),
})

/**
 * Changed objects of one source. The control plane puts all accepted ones in force in one transaction, as one version.
 */
export const ChangeSetBody = z.object({
  source: z.enum(['kubernetes', 'file']),
  objects: z.array(PushBody).max(20_000),
  /** Objects to remove, because their manifests were deleted. */
  removed: z.array(ObjectName).max(20_000).default([]),
  /**
   * All objects of the source. The control plane removes all other objects of the source. Without this list, the
   * control plane removes only the objects in `removed`.
   */
  present: SweepBody.shape.present.optional(),
  /** All problems of the source's files. If absent, the stored problems stay unchanged. */
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
export type FailingCredential = z.infer<typeof FailingCredential>
export type StateQuery = z.infer<typeof StateQuery>
export type NamespacesBody = z.infer<typeof NamespacesBody>
export type NamespacesReply = z.infer<typeof NamespacesReply>
export type KillRelayBody = z.infer<typeof KillRelayBody>
export type KillRelayReply = z.infer<typeof KillRelayReply>
export type SweepBody = z.infer<typeof SweepBody>
export type SweepReply = z.infer<typeof SweepReply>
export type ManifestProblem = z.infer<typeof ManifestProblem>

/** Returns the number of connected processes of the object's Gateways, and of those that acknowledged its version. */
export function acknowledgedBy(
  processes: readonly GatewayProcess[],
  { version, gateways }: Pick<PushReply, 'version' | 'gateways'>,
): Acknowledged {
  const own = processes.filter(({ gateway }) => gateways === null || gateways.includes(gateway))
  const acked = own.filter(({ covered_version: covered }) => covered !== null && covered >= version)
  return { acked: acked.length, total: own.length }
}

/** Texts that state which version of an object is in force, for the status, `doctor` and logs. */
export const IN_FORCE_TEXT: Readonly<Record<InForce, string>> = {
  as_written: 'the object is in force as written',
  last_good: 'its last accepted version stays in force',
  tightened:
    'the version in force does not compile with this version of Chaperone, so its conditions cannot be evaluated and the policy can only deny or hold',
  binding_lost:
    'the Gateway does not admit the object; its rules that deny or hold stay in force for agents of its namespace until the object is changed, deleted or admitted',
  denied:
    'the policy was never in force; everything in its scope is denied (policy_invalid) until the policy is corrected',
  nothing: 'the object has no effect',
}
