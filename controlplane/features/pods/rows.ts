import type { Instance } from '../../../core/wire/gateway/instance.ts'
import type { KnownPod } from '../../../core/wire/operator/pods.ts'
import type { Query } from '../../db/query.ts'

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

type InstanceRow = Pick<KnownPod, 'podUid' | 'namespace' | 'name' | 'sandbox' | 'claim'>

function instanceOf({ podUid, namespace, name, sandbox, claim }: InstanceRow): Instance {
  return {
    pod: `${namespace}/${name}`,
    pod_uid: podUid,
    ...(sandbox && { sandbox: `${namespace}/${sandbox.name}` }),
    ...(claim && { claim: `${namespace}/${claim.name}`, claim_uid: claim.uid }),
  }
}
