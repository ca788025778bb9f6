import { ANNOTATIONS } from '../capture/pod-contract.ts'
import type { OwnedMetadata, Owner } from './pod.ts'
import { annotationField, type Refusal, refusal } from './refusals/refusal.ts'

/** API groups of agent-sandbox (kubernetes-sigs/agent-sandbox). */
export const SANDBOX_GROUP = 'agents.x-k8s.io'
export const SANDBOX_EXTENSIONS_GROUP = 'extensions.agents.x-k8s.io'

/** Annotation of a Sandbox in which the controllers of pools and claims write the name of the SandboxTemplate. */
const TEMPLATE_ANNOTATION = 'agents.x-k8s.io/sandbox-template-ref'
const CLAIM = 'SandboxClaim'
const POOL = 'SandboxWarmPool'
/** Kinds that create Sandboxes from a SandboxTemplate. */
const TEMPLATED = [POOL, CLAIM]

/** Sandbox, reduced to the fields that determine the agent of its pod. */
export type Sandbox = {
  readonly uid: string
  /** True for the Sandbox of a pool or claim, false for one that a user created. */
  readonly isTemplated: boolean
  /** Name of the SandboxTemplate; null if the Sandbox has none. */
  readonly template: string | null
  /** SandboxClaim that owns the Sandbox; null for a Sandbox without a claim, such as an unused Sandbox of a pool. */
  readonly claim: { readonly name: string; readonly uid: string } | null
  /** SandboxWarmPool that owns the Sandbox until a claim adopts it; null otherwise. */
  readonly pool: { readonly name: string; readonly uid: string } | null
}

/**
 * SandboxTemplate, reduced to the agent name and the Gateway in the annotations of its pods; null for a missing
 * annotation.
 */
export type SandboxTemplate = { readonly agent: string | null; readonly gateway: string | null }

/** Finds objects of agent-sandbox in informer caches, without calls to the API server. */
export type SandboxLookup = {
  /** Returns undefined for a Sandbox that is not cached yet. */
  sandboxOf(namespace: string, name: string): Sandbox | undefined
  /** Returns undefined before the cache is filled. A template that does not exist has no agent name. */
  templateOf(namespace: string, name: string): SandboxTemplate | undefined
}

/** Agent of a pod, and the workload (`KIND NAME`) to which the agent name belongs. */
export type PodIdentity = { readonly agent: string; readonly workload: string }

export type ResolvedIdentity =
  | ({ readonly kind: 'resolved' } & PodIdentity)
  | { readonly kind: 'unknown' }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

export function isSandbox({ apiVersion, kind }: Owner): boolean {
  return kind === 'Sandbox' && apiVersion.startsWith(`${SANDBOX_GROUP}/`)
}

/** Reports whether a workload (`KIND NAME`) is a Sandbox or a SandboxTemplate. */
export function isSandboxWorkload(workload: string): boolean {
  return /^Sandbox(Template)? /.test(workload)
}

export function readSandbox({ uid, annotations = {}, ownerReferences = [] }: SandboxMetadata): Sandbox {
  const owner = ownerReferences.find(
    ({ apiVersion, kind, controller }) =>
      controller === true &&
      apiVersion.startsWith(`${SANDBOX_EXTENSIONS_GROUP}/`) &&
      TEMPLATED.includes(kind),
  )
  const ofKind = (kind: string) =>
    owner?.kind === kind && owner.uid !== undefined ? { name: owner.name, uid: owner.uid } : null
  return {
    uid,
    isTemplated: owner !== undefined,
    template: (owner !== undefined && annotations[TEMPLATE_ANNOTATION]) || null,
    claim: ofKind(CLAIM),
    pool: ofKind(POOL),
  }
}

export type SandboxMetadata = Pick<OwnedMetadata, 'annotations' | 'ownerReferences'> & {
  readonly uid: string
}

/**
 * Resolves the agent of a pod that a Sandbox owns. Users who may only create claims choose the names and the pod
 * metadata of their Sandboxes, so the agent of a pool's or claim's Sandbox is that of its SandboxTemplate: the
 * annotation of the template, else its name. A Sandbox that a user created is a workload like any other.
 */
export function sandboxIdentity(
  { annotations = {} }: OwnedMetadata,
  { namespace, owner }: { readonly namespace: string; readonly owner: Owner },
  lookup: SandboxLookup,
): ResolvedIdentity {
  const sandbox = lookup.sandboxOf(namespace, owner.name)
  if (sandbox === undefined || sandbox.uid !== owner.uid) return { kind: 'unknown' }
  const given = annotations[ANNOTATIONS.agent]
  if (!sandbox.isTemplated)
    return { kind: 'resolved', agent: given ?? owner.name, workload: `Sandbox ${owner.name}` }
  const { template } = sandbox
  const found = template === null ? undefined : lookup.templateOf(namespace, template)
  if (template === null || found === undefined) return { kind: 'unknown' }
  const agent = found.agent ?? template
  if (given === undefined || given === agent)
    return { kind: 'resolved', agent, workload: `SandboxTemplate ${template}` }
  return {
    kind: 'refused',
    refusal: refusal(
      annotationField(ANNOTATIONS.agent),
      `the agent of this sandbox is ${agent}, which only SandboxTemplate ${template} may set, but the pod states ${given}`,
      `remove the annotation from the SandboxClaim, or set it in the template`,
    ),
  }
}
