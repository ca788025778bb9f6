import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import { newId } from '../../crypto/ids.ts'
import type { RotatingKeyring } from '../../crypto/keyring.ts'
import { syncKeyOf } from '../../crypto/tokens.ts'
import { bumpVersion } from '../../db/config-version.ts'
import { ensureOrg } from '../../db/orgs.ts'
import type { Query } from '../../db/query.ts'
import { loadSigningKeys, type SigningKeys } from '../actions/tokens/signing-keys.ts'
import { systemActor } from '../audit/actor.ts'
import { LOCAL_GATEWAY } from '../gateways/names.ts'
import { findGatewayByName } from '../gateways/rows.ts'
import { saveGateway } from '../gateways/service.ts'
import { followSealingKey } from '../master-key/service.ts'
import { createDefaultPolicies, type PoliciesDeps } from '../policies/service.ts'

export type InstallationDeps = Pick<PoliciesDeps, 'db' | 'knownAction'> & {
  readonly keyring: RotatingKeyring
  /** Enrolment token of the gateway on this machine; null without such a gateway. */
  readonly localGatewayToken: string | null
}

export type Installation = { readonly orgId: string; readonly keys: SigningKeys }

/**
 * Creates missing prerequisites before the server listens: organisation, default policies, signing keys and local
 * gateway.
 */
export async function prepareInstallation(deps: InstallationDeps): Promise<Installation> {
  const { db, keyring, knownAction, localGatewayToken } = deps
  return db.tx(async (q) => {
    const org = await ensureOrg(q)
    if (org.created) await createDefaultPolicies(q, { db, orgId: org.id, knownAction })
    await followSealingKey(q, keyring)
    const keys = await loadSigningKeys(q, keyring)
    if (localGatewayToken !== null) await enrolLocalGateway(q, org.id, localGatewayToken)
    return { orgId: org.id, keys }
  })
}

/** Enrols the gateway `default/local` with this token. Other fields of an existing row stay unchanged. */
async function enrolLocalGateway(q: Query, orgId: string, token: string): Promise<void> {
  const hash = sha256(token)
  const existing = await findGatewayByName(q, LOCAL_GATEWAY)
  if (existing?.tokenSha256?.equals(hash)) return
  const base = existing ?? {
    id: newId('gateway'),
    orgId,
    name: LOCAL_GATEWAY,
    spec: GatewaySpec.parse({}),
    source: 'api' as const,
    managedBy: null,
    origin: 'built_in' as const,
  }
  const type = existing === undefined ? 'gateway.created' : 'gateway.updated'
  const details = { gateway: LOCAL_GATEWAY, change: 'enrolled' }
  const row = { ...base, tokenSha256: hash, syncKey: syncKeyOf(token) }
  await saveGateway(q, row, { actor: systemActor('installation'), type, details })
  await bumpVersion(q)
}
