import * as z from 'zod'
import { KillEntry } from './gateway/kill.ts'
import { ManifestOrigin } from './origin.ts'

/**
 * Operator (cluster or manifests folder) -> control plane.
 * `PUT /api/operator/objects/{kind}/{namespace}/{name}` one object; `DELETE` the same path; `POST /api/operator/sweep`
 * names everything that should exist, so that what is missing on either side comes out. Bearer: operator token.
 *
 * Two calls concern one replica of the control plane alone and go to each: `POST /api/operator/kill` stops or lets go
 * the gateways that are connected to it, `GET /api/operator/state` says what these have acknowledged.
 */
export const OPERATOR_PATHS = {
  objects: '/api/operator/objects',
  sweep: '/api/operator/sweep',
  /** `PUT` all namespaces of the cluster with their labels, by which Gateways admit them. */
  namespaces: '/api/operator/namespaces',
  /** `POST` objects that changed together: they are in force as one version. */
  changes: '/api/operator/changes',
  kill: '/api/operator/kill',
  state: '/api/operator/state',
  /** `POST` what the operator knows of pods with a sidecar; `GET` those that the control plane counts as existing. */
  pods: '/api/operator/pods',
} as const

const ObjectName = z.object({ kind: z.string(), namespace: z.string(), name: z.string() })

/** An object as it is written: the control plane judges `spec` by the schema of its kind, whatever it is. */
export const PushedObject = z.object({
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
  /** Shown to whoever tries to edit the row elsewhere, e.g. `10-codehost.yaml` or `kubernetes Policy team/prod`. */
  managed_by: z.string(),
  resource: PushedObject,
  /** Why it cannot be used, as full sentences: it is refused with them. */
  problems: z.array(z.string()).max(1_000).optional(),
  /**
   * The document has no legible name, or (`unknown`) not even a kind, so that it may be a Policy. It may also be another
   * version of an object that its file gave before.
   */
  unnamed: z.enum(['policy', 'unknown']).optional(),
  /** The value of `spec.credential.secretRef` of a Connector, resolved; null when the Secret or key is missing. */
  credential: z.string().nullable().optional(),
  /** When the cluster made it; between namespaces the older Connector has a host. */
  created_at: z.string().max(64).optional(),
  /** Where the manifest is kept. Left out: it is not known. */
  origin: ManifestOrigin.optional(),
})

/** Gateway processes that hold a state with the object in it, of those that it is for and that are connected. */
export const Acknowledged = z.object({ acked: z.number().int(), total: z.number().int() })

/** Why an object is not in force; the first two because of what it names, and then it has no effect at all. */
export const PushProblem = z.enum([
  'GatewayNotFound',
  'NamespaceNotAllowed',
  'Invalid',
  'Conflict',
  'TestsFailed',
])

/** What holds for an object. All but the first: its manifest was refused. */
export const InForce = z.enum(['as_written', 'last_good', 'tightened', 'binding_lost', 'denied', 'nothing'])

export const PushReply = z.object({
  accepted: z.boolean(),
  /** Full sentences: what is wrong and what to change. */
  reasons: z.array(z.string()),
  problem: PushProblem.nullable().default(null),
  in_force: InForce.default('as_written'),
  /** Warnings that do not prevent acceptance, e.g. a missing credential. */
  warnings: z.array(z.string()).default([]),
  /** The configuration with this version contains it, and so does every later one. */
  version: z.number().int(),
  /** `namespace/name` of the Gateways that it is for; null = all of the installation. */
  gateways: z.array(z.string()).nullable().default([]),
  /** Of a Policy. */
  tests: z.object({ passed: z.number().int(), total: z.number().int() }).nullable().default(null),
  /** By the gateways of the replica that answers. */
  acknowledged: Acknowledged.default({ acked: 0, total: 0 }),
})

/** One connected gateway process, as one replica of the control plane knows it. */
export const GatewayProcess = z.object({
  /** `namespace/name` of its Gateway. */
  gateway: z.string(),
  process_id: z.string(),
  /** Everything up to this version of the configuration is in force there; null = nothing yet. */
  covered_version: z.number().int().nullable(),
  /** It acknowledged the stops as they are now. */
  has_kill_state: z.boolean(),
  /** Why it refused its newest configuration and keeps an older one; null when it did not. */
  rejected: z.string().nullable(),
  /** Error conditions that it reports of itself, in the words of a Gateway's status. */
  conditions: z.array(z.string()).default([]),
  /** Full sentences that it reports of itself. */
  warnings: z.array(z.string()).default([]),
})

/** All of the cluster; one that is not named does not exist. */
export const NamespacesBody = z.object({
  namespaces: z
    .array(z.object({ name: z.string().min(1).max(253), labels: z.record(z.string(), z.string()) }))
    .max(20_000),
})

/** Whether objects are bound differently now. */
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
 * An injected pod, from its metadata. The first report of a UID decides its agent and Gateway; `deleted`: the object is
 * gone (a `deletionTimestamp` alone is not that), which is final for the UID.
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

/** The largest stop of one source. Lengths in UTF-16 units. */
export const RELAYED_KILL_LIMITS = { scopes: 64, scopeLength: 300, reasonLength: 1_000 } as const

/** The whole of what one source stops; no scopes = it stops nothing (any more). */
export const KillRelayBody = z.object({
  /**
   * `manifest:NAMESPACE/NAME` of a Gateway, where `all` means all of that Gateway; `configmap:NAMESPACE` of a ConfigMap,
   * where it means `namespace:NAMESPACE`; `configmap` of the installation's own one.
   */
  source: z.string().regex(/^(manifest:[^/\s]{1,253}\/[^/\s]{1,253}|configmap(:[^/:\s]{1,253})?)$/),
  scopes: z.array(z.string().min(1).max(RELAYED_KILL_LIMITS.scopeLength)).max(RELAYED_KILL_LIMITS.scopes),
  reason: z.string().max(RELAYED_KILL_LIMITS.reasonLength),
  by: z.string().max(600),
  /** Rises with every change of the object; what is older than what was heard before is not done. */
  revision: z.number().int().nonnegative(),
})

export const KillRelayReply = z.object({
  /** False when a newer revision was heard before. */
  applied: z.boolean(),
  effective: z.array(KillEntry),
  acknowledged: z.object({ acked: z.number().int(), total: z.number().int(), ms: z.number() }),
  /** Present when a stop is in force on connected gateways and not stored yet. */
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

/** Published so that a person sees it: what the folder watcher refused, by file and line. */
export const ManifestProblem = z.object({
  file: z.string(),
  line: z.number().int().nullable(),
  message: z.string(),
})

/** Everything in it is in force as one version, or nothing of it. */
export const ChangeSetBody = z.object({
  source: z.enum(['kubernetes', 'file']),
  objects: z.array(PushBody).max(20_000),
  /** Objects whose manifests are gone. */
  removed: z.array(ObjectName).max(20_000).default([]),
  /** All that the source has: the rest goes. Left out: only `removed` goes. */
  present: SweepBody.shape.present.optional(),
  /** All that is wrong with the source's files. Left out: that stays as it is. */
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

/** How many of the connected processes that an object is for acknowledged it. */
export function acknowledgedBy(
  processes: readonly GatewayProcess[],
  { version, gateways }: Pick<PushReply, 'version' | 'gateways'>,
): Acknowledged {
  const own = processes.filter(({ gateway }) => gateways === null || gateways.includes(gateway))
  const acked = own.filter(({ covered_version: covered }) => covered !== null && covered >= version)
  return { acked: acked.length, total: own.length }
}

/** What holds for an object whose manifest was refused, as status, `doctor` and logs say it. */
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
