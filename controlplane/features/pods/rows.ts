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
