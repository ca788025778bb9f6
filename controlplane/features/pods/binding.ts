import { admits, type RequestingNamespace } from '../../../core/crd/gateway/allowed-namespaces.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { isSandboxWorkload } from '../../../core/inject/sandbox.ts'
import { newId } from '../../crypto/ids.ts'
import { namespaceLabels } from '../../db/namespaces.ts'
import type { Query } from '../../db/query.ts'
import { type AgentRow, listAgentsNamed } from '../agents/rows.ts'
import { bindAgent, registerAgent } from '../agents/service.ts'
import type { AgentInput } from '../agents/store.ts'
import { systemActor } from '../audit/actor.ts'
import type { ReviewedPod } from '../authentication/cluster/token-review.ts'
import { findGatewayByName, type GatewayRow, getGateway, isAgentServed } from '../gateways/rows.ts'

/** Gateway, agent and workload of a pod as the operator reported them. */
export type PodClaims = {
  /** Gateway of the pod, `namespace/name`. */
  readonly gateway: string
  /** Agent of the pod, `namespace/name`. */
  readonly agent: string
  /** Workload of the pod, `KIND NAME`; null if the operator does not report workloads. */
  readonly workload: string | null
}

/** The Gateway and the agent to which a pod is bound. */
export type PodBinding = {
  readonly gatewayId: string
  /** Full name of the Gateway, `namespace/name`. */
  readonly gatewayName: string
  readonly agent: { readonly id: string; readonly name: string }
}

type Asking = { readonly orgId: string; readonly pod: ReviewedPod; readonly claims: PodClaims }

/** Maximum number of workloads per agent. The limit bounds the growth by pods with invented names. */
const MAX_WORKLOADS = 20

/**
 * Binds a pod to a Gateway and an agent by its namespace, ServiceAccount and name. The first pod registers the agent;
 * from then on the agent belongs to the pod's ServiceAccount. Throws `forbidden` with the reason when the pod does not
 * match the agent or Gateway.
 */
export async function bindPod(q: Query, { orgId, pod, claims }: Asking): Promise<PodBinding> {
  const gateway = await gatewayFor(q, pod, claims.gateway)
  if (namespaceOf(claims.agent) !== pod.namespace) {
    throw forbidden(
      `Agent ${claims.agent} is not of namespace ${pod.namespace}, in which the pod runs. Correct the annotation chaperone.dev/agent.`,
    )
  }
  const workload = claims.workload ?? `Pod ${pod.name}`
  const agent = await agentFor(q, { orgId, pod, name: claims.agent, gateway, workload })
  return { gatewayId: gateway.id, gatewayName: gateway.name, agent: { id: agent.id, name: agent.name } }
}

async function gatewayFor(q: Query, { namespace }: ReviewedPod, name: string): Promise<GatewayRow> {
  const gateway = await findGatewayByName(q, name)
  if (gateway === undefined) {
    throw forbidden(
      `There is no Gateway ${name}. Create it, or correct the annotation chaperone.dev/gateway.`,
    )
  }
  const labels = await namespaceLabels(q, namespace)
  if (admitsAgents(gateway, { name: namespace, labels })) return gateway
  throw forbidden(
    `Gateway ${name} does not admit agents of namespace ${namespace}. Admit ${namespace} in its spec.allowedNamespaces.agents.`,
  )
}

/** Returns whether the Gateway admits pods of this namespace as agents. */
export function admitsAgents(
  { name, spec }: Pick<GatewayRow, 'name' | 'spec'>,
  namespace: RequestingNamespace,
): boolean {
  return admits({ namespace: namespaceOf(name), allowed: spec.allowedNamespaces?.agents }, namespace)
}

type Wanted = Omit<Asking, 'claims'> & {
  readonly name: string
  readonly gateway: GatewayRow
  readonly workload: string
}

async function agentFor(q: Query, wanted: Wanted): Promise<AgentRow> {
  // Pods of one workload may start at the same time. The lock lets one pod register the agent; the other pods then
  // find the registered agent.
  await q.query('select pg_advisory_xact_lock(hashtext($1))', [`agent ${wanted.name}`])
  const all = await listAgentsNamed(q, wanted.name)
  const current = all.find(({ status }) => status !== 'revoked') ?? all.at(-1)
  if (current === undefined) return register(q, wanted)
  const owner = current.metadata['service_account']
  if (owner !== undefined && owner !== wanted.pod.serviceAccount) {
    throw forbidden(
      `Agent ${wanted.name} belongs to ServiceAccount ${String(owner)}, but this pod runs as ${wanted.pod.serviceAccount}. Give one of the two workloads another agent name with the annotation chaperone.dev/agent.`,
    )
  }
  // A revoked agent stays unchanged, so that no pod can reactivate the agent. Pods of a revoked agent are refused.
  const isAtHome = current.gatewayId === wanted.gateway.id || current.status === 'revoked'
  const isKnown = workloadsOf(current).includes(wanted.workload)
  if (!isKnown) assertOwnName(current, wanted)
  if (isAtHome && owner !== undefined && isKnown) return current
  if (!isAtHome && !isKnown) await assertNotServed(q, current, wanted)
  return adopt(q, current, wanted)
}

/**
 * Throws when the pod of a Sandbox would become the agent of another workload. A user who may only create SandboxClaims
 * can influence the name of a Sandbox, so the name of an agent does not prove its workload.
 */
function assertOwnName(agent: AgentRow, { workload, pod }: Wanted): void {
  const workloads = workloadsOf(agent)
  if (!isSandboxWorkload(workload) || workloads.length === 0) return
  throw forbidden(
    `Agent ${agent.name} belongs to ${workloads.join(', ')}, but pod ${pod.name} is of ${workload}. Give ${workload} another agent name with the annotation chaperone.dev/agent in its pod template.`,
  )
}

/**
 * Throws when a pod of another workload would move a connected agent to another Gateway. Otherwise, two workloads
 * with the same agent name would move the agent at every restart of their pods. Exception: a workload whose own
 * Gateway changes may move the agent before its old pods have ended.
 */
async function assertNotServed(q: Query, agent: AgentRow, { pod, gateway }: Wanted): Promise<void> {
  const workloads = workloadsOf(agent)
  if (agent.gatewayId === null || workloads.length === 0) return
  if (!(await isAgentServed(q, agent.gatewayId, agent.name))) return
  const present = await getGateway(q, agent.gatewayId)
  throw forbidden(
    `Agent ${agent.name} runs under Gateway ${present?.name} already, as ${workloads.join(', ')}, and pod ${pod.name} is of another workload under Gateway ${gateway.name}. Give one of the workloads another agent name with the annotation chaperone.dev/agent, or give both the same Gateway.`,
  )
}

/** Returns the names of the workloads that used this agent under its current Gateway. */
function workloadsOf({ metadata }: AgentRow): readonly string[] {
  const { workloads } = metadata
  return Array.isArray(workloads) ? workloads.map(String) : []
}

async function register(q: Query, { orgId, pod, name, gateway, workload }: Wanted): Promise<AgentRow> {
  const row: AgentInput = {
    id: newId('agent'),
    orgId,
    name,
    runtime: 'kubernetes',
    environment: 'production',
    status: 'active',
    capabilities: [],
    metadata: placeInMetadata(pod, [workload]),
    apiKeyPrefix: null,
    apiKeySha256: null,
    gatewayId: gateway.id,
    source: 'kubernetes',
    managedBy: `ServiceAccount ${pod.namespace}/${pod.serviceAccount}`,
  }
  const details = {
    name,
    ...placeOf(pod),
    gateway: gateway.name,
    runtime: row.runtime,
    environment: row.environment,
  }
  return registerAgent(q, row, { actor: actorOf(pod), details })
}

/**
 * Binds an existing agent to the Gateway of the pod. The binding is necessary when a user created the agent, when the
 * agent was bound to another Gateway, or when a further workload uses the agent.
 */
async function adopt(q: Query, agent: AgentRow, { pod, gateway, workload }: Wanted): Promise<AgentRow> {
  if (agent.status === 'revoked') return agent
  const known = agent.gatewayId === gateway.id ? workloadsOf(agent) : []
  const metadata = { ...agent.metadata, ...placeInMetadata(pod, [...known, workload]) }
  const details = { name: agent.name, change: 'bound', ...placeOf(pod), gateway: gateway.name }
  return bindAgent(q, agent, { gatewayId: gateway.id, metadata }, { actor: actorOf(pod), details })
}

function placeInMetadata({ namespace, serviceAccount }: ReviewedPod, workloads: readonly string[]) {
  const latest = [...new Set(workloads)].slice(-MAX_WORKLOADS)
  return { namespace, service_account: serviceAccount, workloads: latest }
}

function placeOf({ namespace, serviceAccount, name, uid }: ReviewedPod) {
  return { namespace, service_account: serviceAccount, pod: name, pod_uid: uid }
}

function actorOf({ namespace, serviceAccount }: ReviewedPod) {
  return systemActor(`serviceaccount:${namespace}/${serviceAccount}`)
}

function namespaceOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf('/')))
}

function forbidden(detail: string): ChaperoneError {
  return new ChaperoneError('forbidden', { detail })
}
