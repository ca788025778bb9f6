import { TOKEN_TTL_S } from '../../../core/capture/pod-contract.ts'
import type { Instance } from '../../../core/wire/gateway/instance.ts'
import type { KnownPod } from '../../../core/wire/operator/pods.ts'
import type { Query } from '../../db/query.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'

/** Returns whether the operator has reported the pod as a pod with a sidecar. Deleted pods count too. */
export async function isGovernedPod(q: Query, podUid: string): Promise<boolean> {
  const { rows } = await q.query('select 1 from pod_identities where pod_uid = $1', [podUid])
  return rows.length > 0
}

/** Returns whether a pod with a sidecar uses the ServiceAccount, or used it within the last day. */
export async function isGovernedServiceAccount(
  q: Query,
  account: { readonly namespace: string; readonly name: string },
): Promise<boolean> {
  const { rows } = await q.query(
    'select 1 from pod_identities where namespace = $1 and service_account = $2 limit 1',
    [account.namespace, account.name],
  )
  return rows.length > 0
}

/**
 * Reports whether a registered Gateway has a pod that runs or starts. The operator does not report that a pod has
 * completed, so a pod counts for `TOKEN_TTL_S` after its report and after each new token. The kubelet replaces the
 * token of a running pod within this time.
 */
export async function hasGatewayWithPod(q: Query): Promise<boolean> {
  const { rows } = await q.query(
    `select 1 from pod_identities join gateways on gateways.name = pod_identities.gateway
     where deleted_at is null
       and greatest(reported_at, token_seen_at) > clock_timestamp() - make_interval(secs => $1) limit 1`,
    [TOKEN_TTL_S],
  )
  return rows.length > 0
}

/** Lists the instances of these pods. Omits pods that are not reported or are deleted. */
export async function listInstances(
  q: Query,
  podUids: readonly string[],
): Promise<ReadonlyMap<string, Instance>> {
  if (podUids.length === 0) return new Map()
  const { rows } = await q.query<InstanceRow>(
    `select pod_uid as "podUid", namespace, name, sandbox, claim from pod_identities
     where pod_uid = any($1::text[]) and deleted_at is null`,
    [podUids],
  )
  return new Map(rows.map((row) => [row.podUid, instanceOf(row)]))
}

/**
 * Number of running pods of an agent, and the instances of at most 20 of these pods: instances with a SandboxClaim
 * first, newest first.
 */
export type RunningInstances = { readonly pods: number; readonly instances: readonly Instance[] }

/** Lists the running instances by the name of their agent. Omits agents without a pod. */
export async function listRunningInstances(q: ScopedQuery): Promise<ReadonlyMap<string, RunningInstances>> {
  const rows = await q.rows<{ agent: string; pods: number; newest: InstanceRow[] }>(
    [],
    (within) => `select agent, count(*)::int as pods, to_json((array_agg(json_build_object('podUid', pod_uid,
         'namespace', namespace, 'name', name, 'sandbox', sandbox, 'claim', claim)
         order by claim is null, reported_at desc))[1:20]) as newest
       from pod_identities where deleted_at is null and ${within.name('agent')} group by agent`,
  )
  return new Map(rows.map(({ agent, pods, newest }) => [agent, { pods, instances: newest.map(instanceOf) }]))
}

type InstanceRow = Pick<KnownPod, 'podUid' | 'namespace' | 'name' | 'sandbox' | 'claim'>

function instanceOf({ podUid, namespace, name, sandbox, claim }: InstanceRow): Instance {
  return {
    pod: `${namespace}/${name}`,
    pod_uid: podUid,
    ...(sandbox && { sandbox: `${namespace}/${sandbox.name}` }),
    ...(claim && { claim: `${namespace}/${claim.name}`, claim_uid: claim.uid }),
  }
}
