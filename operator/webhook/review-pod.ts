import { ANNOTATIONS, INJECT_LABEL, VOLUMES } from '../../core/capture/pod-contract.ts'
import { fieldPath } from '../../core/field-path.ts'
import { agentName, owningController, workloadOf } from '../../core/inject/agent-name.ts'
import { injectEphemeral } from '../../core/inject/ephemeral.ts'
import { type GatewayLookup, type Governance, governance } from '../../core/inject/governance.ts'
import { inject } from '../../core/inject/inject.ts'
import {
  type Isolation,
  type PodRuntime,
  type ResolvedInterception,
  resolveInterception,
} from '../../core/inject/interception.ts'
import { jsonPatch } from '../../core/inject/json-patch.ts'
import type { InjectGateway, InjectOptions } from '../../core/inject/options.ts'
import { type Owner, type Pod, PodSchema } from '../../core/inject/pod.ts'
import { annotationField, type Refusal, refusal, refusalText } from '../../core/inject/refusals/refusal.ts'
import { type RuntimeLookup, runtimeOfPod } from '../../core/inject/runtime.ts'
import {
  isSandbox,
  type PodIdentity,
  type ResolvedIdentity,
  type SandboxLookup,
  sandboxIdentity,
} from '../../core/inject/sandbox.ts'
import type { GovernedPod } from '../cluster/pods/governed-pods.ts'
import type { AdmittedPod } from '../cluster/pods/pod-index.ts'
import type { AdmissionRequest, AdmissionResponse } from './admission-review.ts'
import type { IssuedUids } from './issued-uids.ts'

/** The controller of a pod that is being created. Events are recorded on it, because the pod does not exist yet. */
export type RefusedOwner = Owner & { readonly namespace: string; readonly uid: string }

export type ReviewDeps = {
  /** Finds Gateways in informer caches, without calls. */
  readonly gateways: GatewayLookup
  /** Returns the labels of a namespace; undefined for a namespace that is not cached yet. */
  readonly namespaceLabels: (namespace: string) => Readonly<Record<string, string>> | undefined
  /** Finds a pod of another workload that runs as the same agent as the given pod, but under another Gateway. */
  readonly agentElsewhere: (admitted: AdmittedPod) => GovernedPod | undefined
  readonly sandboxes: SandboxLookup
  readonly runtimes: RuntimeLookup
  /**
   * Returns the state of the NetworkPolicy that isolates pods with `interception: proxyEnv` in a namespace.
   * Absent when the installation has no such policy.
   */
  readonly isolationOf?: (namespace: string) => Isolation
  readonly settings: Omit<
    InjectOptions,
    'namespace' | 'freshUid' | 'keepsUid' | 'identity' | 'runtime' | 'isolation'
  >
  readonly uids: IssuedUids
  /** Called with each refusal of a new pod that has a controller, except for dry runs. Must not block. */
  readonly onRefused: (owner: RefusedOwner, message: string) => void
  /** Called with a sentence about the interception that `interception: auto` chose for a new pod. Must not block. */
  readonly onChoice?: (owner: RefusedOwner, message: string) => void
}

/**
 * Reviews a new pod, debug containers that are added to a governed pod, or a change of a pod's injection label.
 * `isRequired`: true when the API server matched the value `required` of the namespace's label. Makes no calls.
 */
export function reviewPod(
  request: AdmissionRequest,
  isRequired: boolean,
  deps: ReviewDeps,
): AdmissionResponse {
  const { resource, subResource = '', operation } = request
  if (resource.group !== '' || resource.resource !== 'pods') return { allowed: true }
  if (subResource === 'ephemeralcontainers' && operation === 'UPDATE') return reviewEphemeral(request)
  if (subResource === '' && operation === 'CREATE') return reviewNew(request, isRequired, deps)
  if (subResource === '' && operation === 'UPDATE') return reviewChange(request)
  return { allowed: true }
}

/**
 * Reports whether a new pod is refused because of its Gateway. When pod and Gateway were applied together, the Gateway
 * may not be cached yet. Also true for a Gateway that does not admit the namespace, so that response times do not
 * reveal which Gateways exist.
 */
export function isWithoutGateway(
  { resource, subResource = '', operation, object, namespace }: AdmissionRequest,
  isRequired: boolean,
  deps: GovernanceDeps,
): boolean {
  if (resource.group !== '' || resource.resource !== 'pods' || subResource !== '' || operation !== 'CREATE')
    return false
  const parsed = PodSchema.safeParse(object)
  return parsed.success && governanceOf(parsed.data, { namespace, isRequired }, deps).kind === 'refused'
}

type GovernanceDeps = Pick<ReviewDeps, 'gateways' | 'namespaceLabels'>

function governanceOf(
  pod: Pod,
  { namespace: name, isRequired }: { readonly namespace: string; readonly isRequired: boolean },
  { gateways, namespaceLabels }: GovernanceDeps,
): Governance {
  const labels = namespaceLabels(name)
  const required = isRequired || labels?.[INJECT_LABEL] === 'required'
  return governance(pod, { name, labels, isRequired: required }, gateways)
}

function reviewNew(request: AdmissionRequest, isRequired: boolean, deps: ReviewDeps): AdmissionResponse {
  const parsed = PodSchema.safeParse(request.object)
  if (!parsed.success) return unreadable(parsed.error.issues)
  const found = governanceOf(parsed.data, { namespace: request.namespace, isRequired }, deps)
  if (found.kind === 'none') return { allowed: true }
  if (found.kind === 'refused') return refuse(request, parsed.data, found.refusals, deps)
  const facts = factsOf({ request, pod: parsed.data, gateway: found.gateway }, deps)
  if (facts.kind === 'refused') return refuse(request, parsed.data, [facts.refusal], deps)
  const { identity, runtime, isolation } = facts
  const result = inject(parsed.data, found.gateway, {
    ...{ ...deps.settings, identity, runtime, isolation },
    namespace: request.namespace,
    freshUid: deps.uids.fresh(),
    keepsUid: deps.uids.isIssued,
  })
  if (result.kind === 'refused') return refuse(request, parsed.data, result.refusals, deps)
  const owner = ownerOf(parsed.data, request)
  if (result.choice !== null && owner !== null) deps.onChoice?.(owner, result.choice)
  return { allowed: true, patch: jsonPatch(request.object, result.pod), warnings: result.warnings }
}

type NewPod = Omit<Named, 'identity'>
/** Facts about a new pod from the caches, for the injector. */
type PodFacts =
  | ({ readonly kind: 'known'; readonly identity: PodIdentity | undefined } & PodRuntime)
  | { readonly kind: 'refused'; readonly refusal: Refusal }

function factsOf({ request, pod, gateway }: NewPod, deps: ReviewDeps): PodFacts {
  const { namespace } = request
  const resolved = sandboxOf(pod, namespace, deps)
  if (resolved.kind === 'refused') return resolved
  if (resolved.kind === 'unknown') return { kind: 'refused', refusal: UNKNOWN_SANDBOX }
  const identity = resolved.kind === 'resolved' ? resolved : undefined
  const found = runtimeOfPod(pod, deps.runtimes)
  if (found.kind === 'unknown') return { kind: 'refused', refusal: found.refusal }
  const way = { runtime: found.runtime, isolation: deps.isolationOf?.(namespace) ?? 'off' }
  const refusal =
    podSecurity(request, resolveInterception(gateway.spec, way), deps) ??
    sharedName({ request, pod, gateway, identity }, deps)
  return refusal === null ? { kind: 'known', identity, ...way } : { kind: 'refused', refusal }
}

/**
 * Refusal of a pod whose Sandbox is not in the operator's informer cache yet. The controller of the Sandbox
 * then creates the pod again.
 */
const UNKNOWN_SANDBOX = refusal(
  'metadata.ownerReferences',
  'the operator does not know the Sandbox of this pod or its SandboxTemplate yet, so the agent of the pod is not known',
  'wait until the controller of the Sandbox tries again; if the problem remains, see the log of the operator',
)

/** Resolves the agent of a Sandbox's pod. `none`: the pod has no Sandbox. */
function sandboxOf(
  { metadata }: Pod,
  namespace: string,
  { sandboxes }: Pick<ReviewDeps, 'sandboxes'>,
): ResolvedIdentity | { readonly kind: 'none' } {
  const owner = owningController(metadata)
  if (owner === undefined || !isSandbox(owner)) return { kind: 'none' }
  return sandboxIdentity(metadata, { namespace, owner }, sandboxes)
}

/**
 * Reports whether the Sandbox or the RuntimeClass of a pod is not cached yet. A pod can be created before the watch
 * delivers them.
 */
export function isWithoutDependency(
  { resource, subResource = '', operation, object, namespace }: AdmissionRequest,
  deps: Pick<ReviewDeps, 'sandboxes' | 'runtimes'>,
): boolean {
  if (resource.group !== '' || resource.resource !== 'pods' || subResource !== '' || operation !== 'CREATE')
    return false
  const parsed = PodSchema.safeParse(object)
  if (!parsed.success) return false
  const isKnown = runtimeOfPod(parsed.data, deps.runtimes).kind === 'known'
  return !isKnown || sandboxOf(parsed.data, namespace, deps).kind === 'unknown'
}

type Named = {
  readonly request: AdmissionRequest
  readonly pod: Pod
  readonly gateway: InjectGateway
  readonly identity: PodIdentity | undefined
}

/**
 * Refuses a captured pod in a namespace whose PodSecurity level does not admit the init container that sets the capture
 * rules. The API server would refuse the pod after the injection, with a text that says neither why the pod has
 * NET_ADMIN nor what to do.
 */
function podSecurity(
  { namespace }: AdmissionRequest,
  way: ResolvedInterception,
  { namespaceLabels }: Pick<ReviewDeps, 'namespaceLabels'>,
): Refusal | null {
  const level = namespaceLabels(namespace)?.[POD_SECURITY_LABEL]
  const isCaptured = way.kind === 'resolved' && way.interception === 'transparent'
  if (!isCaptured || (level !== 'baseline' && level !== 'restricted')) return null
  return refusal(
    'metadata.namespace',
    `the namespace ${namespace} enforces PodSecurity ${level}, which does not admit NET_ADMIN for the init container that sets the capture rules`,
    `label the namespace ${POD_SECURITY_LABEL}=privileged and ${INJECT_LABEL}=required (then every pod is governed, and the admission policies of Chaperone enforce restricted on agents, except that root is allowed), or use a Gateway with interception: proxyEnv and a NetworkPolicy (docs/kubernetes.md, Namespaces with PodSecurity)`,
  )
}

const POD_SECURITY_LABEL = 'pod-security.kubernetes.io/enforce'

/**
 * Refuses a pod whose agent already runs under another Gateway: the agent would switch between the Gateways with every
 * call of its pods. A pod of a Sandbox is also refused when its agent name belongs to any other workload.
 */
function sharedName(
  { request: { namespace }, pod: { metadata }, gateway, identity }: Named,
  { agentElsewhere }: ReviewDeps,
): Refusal | null {
  const agent = `${namespace}/${identity?.agent ?? agentName(metadata)}`
  const asked = `${gateway.namespace}/${gateway.name}`
  const workload = identity?.workload ?? workloadOf(metadata)
  const other = agentElsewhere({ agent, gateway: asked, workload, isExclusive: identity !== undefined })
  if (other === undefined) return null
  const field = annotationField(ANNOTATIONS.agent)
  if (identity !== undefined)
    return refusal(
      field,
      `agent ${agent} belongs to ${other.workload ?? 'another workload'} (pod ${other.metadata.name}), so ${identity.workload} may not run as this agent`,
      `set another agent name in the pod template of ${identity.workload}`,
    )
  return refusal(
    field,
    `agent ${agent} already runs under Gateway ${other.gateway} (pod ${other.metadata.name}), and an agent belongs to one Gateway`,
    `set another agent name for this workload, or use the same Gateway`,
  )
}

function reviewEphemeral(request: AdmissionRequest): AdmissionResponse {
  const [before, after] = [PodSchema.safeParse(request.oldObject), PodSchema.safeParse(request.object)]
  if (!before.success) return unreadable(before.error.issues)
  if (!after.success) return unreadable(after.error.issues)
  if (!isGoverned(before.data)) return { allowed: true }
  const result = injectEphemeral(before.data, after.data)
  if (result.kind === 'refused') return refused(messageOf(before.data, result.refusals))
  return { allowed: true, patch: jsonPatch(request.object, result.pod) }
}

/**
 * Restores the label value `injected` of a governed pod when agent-sandbox copies the value `enabled` of the pod
 * template to it. Both values request injection.
 */
function reviewChange(request: AdmissionRequest): AdmissionResponse {
  const [before, after] = [PodSchema.safeParse(request.oldObject), PodSchema.safeParse(request.object)]
  const isAgain = after.data?.metadata.labels?.[INJECT_LABEL] === 'enabled'
  if (!isAgain || before.data === undefined || !isGoverned(before.data)) return { allowed: true }
  const path = `/metadata/labels/${INJECT_LABEL.replace('/', '~1')}`
  return { allowed: true, patch: [{ op: 'replace', path, value: 'injected' }] }
}

/** Reports whether a pod is governed. Checks its volumes, because labels of a running pod can be removed. */
function isGoverned({ spec }: Pod): boolean {
  return spec.volumes?.some(({ name }) => name === VOLUMES.trust.name) === true
}

function refuse(
  request: AdmissionRequest,
  pod: Pod,
  refusals: readonly Refusal[],
  { onRefused }: ReviewDeps,
): AdmissionResponse {
  const message = messageOf(pod, refusals)
  const owner = ownerOf(pod, request)
  if (owner !== null) onRefused(owner, message)
  return refused(message)
}

/** Returns the object for an Event about a new pod; null for a dry run and for a bare pod. */
function ownerOf({ metadata }: Pod, { namespace, dryRun }: AdmissionRequest): RefusedOwner | null {
  const owner = owningController(metadata)
  return owner?.uid === undefined || dryRun ? null : { ...owner, uid: owner.uid, namespace }
}

function messageOf({ metadata }: Pod, refusals: readonly Refusal[]): string {
  const name = metadata.name ?? `${metadata.generateName ?? ''}*`
  const lines = refusals.map(refusalText)
  return lines.length === 1
    ? `pod ${name} cannot be governed: ${lines[0]}`
    : [`pod ${name} cannot be governed for ${lines.length} reasons:`, ...lines].join('\n- ')
}

function refused(message: string): AdmissionResponse {
  return { allowed: false, refused: { code: 403, message } }
}

function unreadable(
  issues: readonly { readonly path: PropertyKey[]; readonly message: string }[],
): AdmissionResponse {
  const text = issues.map(({ path, message }) => `${fieldPath(path)}: ${message}`).join('; ')
  return { allowed: false, refused: { code: 400, message: `the pod cannot be read: ${text}` } }
}
