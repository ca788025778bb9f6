import type { Query } from '../../db/query.ts'

/** Returns whether the operator reported the pod as one with a sidecar, deleted pods included. */
export async function isGovernedPod(q: Query, podUid: string): Promise<boolean> {
  const { rows } = await q.query('select 1 from pod_identities where pod_uid = $1', [podUid])
  return rows.length > 0
}

/** Returns whether a pod with a sidecar uses the ServiceAccount, or did so until a day ago. */
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
