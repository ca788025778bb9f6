import type { RefreshCredentialBody } from '../../../core/wire/gateway/minted-secret.ts'
import { bumpVersion } from '../../db/config-version.ts'
import type { Db } from '../../db/query.ts'
import { systemActor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { makeRefusedDue, serialAt } from './minting/store.ts'

const ACTOR = systemActor('installation')

type Refused = {
  readonly gateway: { readonly id: string; readonly name: string }
  readonly secret: RefreshCredentialBody
}

/**
 * Requests the replacement of a short-lived credential that an upstream refused. Returns true when another credential
 * is available or being minted. A credential is replaced only after a minimum age, which limits the rate of mintings
 * over all gateways; the minimum age grows with successive refusals. After a failed minting, the back-off stays in
 * force.
 */
export function refreshRefused(
  { db, orgId }: { readonly db: Db; readonly orgId: string },
  { gateway, secret }: Refused,
): Promise<boolean> {
  const { connector_id: connectorId, serial } = secret
  return db.tx(async (q) => {
    const found = await makeRefusedDue(q, { connectorId, gatewayId: gateway.id, serial })
    if (found === null) {
      const current = await serialAt(q, { connectorId, gatewayId: gateway.id })
      return current !== null && current !== serial
    }
    const { connector, wasDue } = found
    if (wasDue) return true
    const details = { change: 'credential.refused', connector, serial, gateway: gateway.name }
    await recordEvent(q, { orgId, actor: ACTOR, type: 'gateway.updated', manifest: connector, details })
    // The new version wakes the refreshers of all replicas.
    await bumpVersion(q)
    return true
  })
}
