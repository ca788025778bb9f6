import { ChaperoneError } from '../../../core/errors.ts'
import { bumpVersion } from '../../db/config-version.ts'
import type { Db } from '../../db/query.ts'
import type { Actor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { type ConnectorRow, listConnectors } from '../connectors/rows.ts'
import { makeDue } from './minting/store.ts'
import { hasMinted } from './rows.ts'
import type { Changed } from './service.ts'
import { credentialSource } from './source.ts'

type RotateDeps = { readonly db: Db; readonly orgId: string }

/**
 * Requests a new short-lived credential for every Connector that uses the stored credential `name`. The present
 * short-lived credentials stay in use until a refresher has stored the new ones, which takes about a second if the
 * source answers.
 */
export function rotateCredential({ db, orgId }: RotateDeps, by: Actor, name: string): Promise<Changed> {
  return db.tx(async (q) => {
    const named = (await listConnectors(q)).filter((row) => isNamed(row, name))
    if (named.length === 0)
      throw new ChaperoneError('not_found', {
        detail: `No connector has the credential ${name}. List the credentials: chaperone credential ls`,
      })
    const minted = named.filter(hasMinted)
    if (minted.length === 0)
      throw new ChaperoneError('conflict', {
        detail: `The credential ${name} is sent as it is stored, so it has no short-lived secret to rotate. To replace the stored credential, run chaperone credential set ${name}; in a cluster, change its Secret.`,
      })
    const connectors = minted.map((row) => row.name)
    await makeDue(
      q,
      minted.map(({ id }) => id),
    )
    const details = { change: 'credential.rotated', credential: name, connectors }
    await recordEvent(q, { orgId, actor: by, type: 'gateway.updated', details })
    // The new version wakes the refreshers of all replicas.
    await bumpVersion(q)
    return { name, connectors }
  })
}

function isNamed(row: ConnectorRow, name: string): boolean {
  return [row.name, credentialSource(row).name].some((known) => known === name || known === `default/${name}`)
}
