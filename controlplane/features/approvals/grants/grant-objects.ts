import {
  type ClusterGrant,
  grantPermission,
  hasGrantFields,
  isOfGrant,
} from '../../../../core/crd/manifests/grant-permission.ts'
import type { PermissionSpec } from '../../../../core/crd/schemas.ts'
import type { GrantObject } from '../../../../core/wire/operator/grants.ts'
import type { Query } from '../../../db/query.ts'
import type { Actor } from '../../audit/actor.ts'
import { endGrant } from './end-grant.ts'
import { findGrantOfObject, type GrantRow, listShownGrants } from './store.ts'

type ObjectName = { readonly namespace: string; readonly name: string }

/**
 * Returns the active grants of Gateways of the cluster. Each grant has the form of the Permission that shows it in the
 * cluster.
 */
export async function listGrantObjects(q: Query): Promise<readonly GrantObject[]> {
  return (await listShownGrants(q)).map(({ isStored, ...row }) => ({
    ...grantPermission(clusterGrant(row)),
    is_stored: isStored,
  }))
}

/**
 * Classifies the Permission of a manifest. `ordinary`: it has no fields of a grant. `grant`: it shows a grant, which
 * may have ended. `warning`: it has fields of a grant that have no effect; the text of the warning gives the reason
 * in a sentence.
 */
export async function judgeGrantObject(
  q: Query,
  object: ObjectName & { readonly source: 'kubernetes' | 'file'; readonly spec: PermissionSpec },
): Promise<'ordinary' | 'grant' | { readonly warning: string }> {
  if (!hasGrantFields(object.spec)) return 'ordinary'
  const grant = object.source === 'kubernetes' ? await findGrantOfObject(q, object) : undefined
  if (grant === undefined) return { warning: UNKNOWN }
  return isOfGrant(object.spec, clusterGrant(grant)) ? 'grant' : { warning: differing(grant) }
}

/** Revokes the grant of a deleted Permission if the grant is still active. */
export async function endGrantOfObject(
  q: Query,
  object: ObjectName & { readonly orgId: string; readonly actor: Actor },
): Promise<void> {
  const { namespace, name, orgId, actor } = object
  const grant = await findGrantOfObject(q, object)
  if (grant?.status !== 'active') return
  await endGrant(q, { id: grant.id, orgId, by: `kubernetes Permission ${namespace}/${name}`, actor })
}

const EFFECT =
  'both fields have no effect: the rules of the Permission do not expire, and it approves no held requests'

const UNKNOWN = `spec.expiresAt and spec.maxUses: no approver granted this Permission, so ${EFFECT}. Remove both fields, or make a grant on the card of a held request.`

function differing({ id }: GrantRow): string {
  return `spec differs from grant ${id}, so expiresAt and maxUses have no effect: the rules of the Permission do not expire, and it approves no held requests. Undo the change. To make another grant, answer a held request.`
}

function clusterGrant(row: GrantRow): ClusterGrant {
  return {
    ...row,
    expiresAt: row.expiresAt.toISOString(),
    parameterNames: Object.keys(row.parameters),
  }
}
