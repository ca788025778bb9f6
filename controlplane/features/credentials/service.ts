import { hasLocalSource } from '../../../core/crd/credentials/credential-spec.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import { covers } from '../../../core/wire/access/rights.ts'
import type { CredentialView, TestCredentialReply } from '../../../core/wire/credentials.ts'
import { sealedPlace } from '../../crypto/sealed-places.ts'
import { bumpVersion } from '../../db/config-version.ts'
import type { Db, Query } from '../../db/query.ts'
import { createScopedQuery } from '../../db/scoped-query.ts'
import type { Actor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { type ApprovalsBotDeps, refuseApprovalsBot } from '../chat/bot/bot.ts'
import { type ConnectorRow, listConnectors, listConnectorsIn } from '../connectors/rows.ts'
import { type TestDeps, testCredential } from './credential-test.ts'
import { refreshRefused } from './refused.ts'
import { rotateCredential } from './rotate.ts'
import { listCredentials, listMinted, type MintedRow } from './rows.ts'
import { credentialSource, sourceText } from './source.ts'
import { deleteCredential, putCredential, setConnectorCredential } from './store.ts'

export type CredentialsDeps = ApprovalsBotDeps &
  TestDeps & {
    readonly db: Db
    /**
     * Runs `change`, and in the same transaction applies the Connectors whose manifests name the credential. See
     * `Manifests.credentialChanged`.
     */
    readonly manifests: {
      credentialChanged(name: string, change: (q: Query) => Promise<void>): Promise<boolean>
    }
    /**
     * Whether the installation runs in a cluster. There, Secrets and not the encrypted store contain the credentials of
     * Connectors.
     */
    readonly isCluster: boolean
  }

/**
 * Sets and deletes the credentials of Connectors: credentials in the encrypted store, and credentials of
 * Connectors that were created through the API.
 */
export type Credentials = {
  list(namespaces: Namespaces): Promise<readonly CredentialView[]>
  /** Stores a credential. `name`: a credential that a manifest names, or a Connector. */
  set(by: Actor, given: { readonly name: string; readonly secret: string }): Promise<Changed>
  remove(by: Actor, name: string): Promise<Changed>
  /**
   * Schedules the replacement of the short-lived credentials that are minted from a stored credential. `name`: as for
   * `set`, or a Secret as `namespace/name`. Throws `not_found` for a name without Connectors, `conflict` when none of
   * them has short-lived credentials.
   */
  rotate(by: Actor, name: string): Promise<Changed>
  /** Schedules the replacement of a short-lived credential that an upstream refused with 401. See `refreshRefused`. */
  refused(given: Parameters<typeof refreshRefused>[1]): Promise<boolean>
  /** Sends a read to the provider with the credential of the connector. Throws `not_found` for an unknown connector. */
  test(by: Actor, connectorId: string, namespaces: Namespaces): Promise<TestCredentialReply>
}

/** A changed credential, and the names of the Connectors that use it. */
export type Changed = { readonly name: string; readonly connectors: readonly string[] }

export function createCredentials(deps: CredentialsDeps): Credentials {
  const { db, orgId, keyring } = deps
  return {
    async list(namespaces) {
      const rows = await listConnectorsIn(createScopedQuery(db, namespaces))
      const stored = covers(namespaces, null) ? await listCredentials(db, orgId) : []
      const names = stored.map(({ name }) => name)
      return views(rows, { stored: names, minted: await listMinted(db) })
    },
    async set(by, { name: given, secret }) {
      const found = await find(deps, db, given)
      if (found.kind === 'vault' && deps.isCluster) throw inCluster(found.name)
      for (const { type } of found.connectors) await refuseApprovalsBot(db, deps, { type, token: secret })
      const write = async (q: Query, target: Target) => {
        const { name } = target
        if (target.kind === 'vault')
          return putCredential(q, orgId, { name, secret: keyring.seal(secret, sealedPlace.credential(name)) })
        const sealed = keyring.seal(secret, target.id)
        if (!(await setConnectorCredential(q, target.id, sealed))) throw changedMeanwhile(given)
      }
      return change(deps, by, { given, found, verb: 'set', write })
    },
    async remove(by, given) {
      const found = await find(deps, db, given)
      const write = async (q: Query, target: Target) => {
        if (target.kind === 'vault' && !(await deleteCredential(q, orgId, target.name)))
          throw notStored(target.name)
        if (target.kind === 'connector' && !(await setConnectorCredential(q, target.id, null)))
          throw changedMeanwhile(given)
      }
      return change(deps, by, { given, found, verb: 'removed', write })
    },
    rotate: (by, name) => rotateCredential(deps, by, name),
    refused: (given) => refreshRefused(deps, given),
    async test(by, connectorId, namespaces) {
      const rows = await listConnectorsIn(createScopedQuery(db, namespaces))
      const row = rows.find(({ id }) => id === connectorId)
      if (row === undefined)
        throw new ChaperoneError('not_found', {
          detail: `There is no connector ${connectorId}. GET /api/dashboard/connectors lists every connector.`,
        })
      let result = { ok: false, status: null as number | null }
      try {
        const reply = await testCredential(db, deps, row)
        result = reply
        return reply
      } finally {
        // The event is also recorded after an error, because the provider may have received the request although its
        // response did not arrive.
        const { ok, status } = result
        const details = { change: 'credential.tested', connector: row.name, ok, status }
        await recordEvent(db, { orgId, actor: by, type: 'gateway.updated', details })
      }
    },
  }
}

/**
 * Target of a change: a credential in the encrypted store, or the credential of a Connector that was created through
 * the API.
 */
type Target = {
  readonly name: string
  readonly connectors: readonly ConnectorRow[]
} & ({ readonly kind: 'vault' } | { readonly kind: 'connector'; readonly id: string })

async function find({ orgId }: CredentialsDeps, q: Query, given: string): Promise<Target> {
  const stored = (await listCredentials(q, orgId)).map(({ name }) => name)
  return targetOf(await listConnectors(q), stored, given)
}

type Change = {
  readonly given: string
  /** Target of `given` that was read before the transaction. */
  readonly found: Target
  readonly verb: 'set' | 'removed'
  readonly write: (q: Query, target: Target) => Promise<void>
}

async function change(
  deps: CredentialsDeps,
  by: Actor,
  { given, found, verb, write }: Change,
): Promise<Changed> {
  const { db, orgId } = deps
  let target = found
  const apply = async (q: Query) => {
    // A manifest may have defined or removed a Connector of this name since `found` was read.
    target = await find(deps, q, given)
    if (target.kind !== found.kind || target.name !== found.name) throw changedMeanwhile(given)
    await write(q, target)
    await note(q, { orgId, by, target, verb })
  }
  if (found.kind === 'vault') await deps.manifests.credentialChanged(found.name, apply)
  else
    await db.tx(async (q) => {
      await apply(q)
      await bumpVersion(q)
    })
  return changed(target)
}

/**
 * Returns the target of a credential or Connector name. An unknown name means a new credential in the encrypted store.
 * Throws `conflict` with the remedy for a Connector whose manifest names another source.
 */
function targetOf(rows: readonly ConnectorRow[], stored: readonly string[], given: string): Target {
  const named = (vault: string): Target => ({
    kind: 'vault',
    name: vault,
    connectors: rows.filter((row) => isNamed(row, vault)),
  })
  if (stored.includes(given) || rows.some((row) => isNamed(row, given))) return named(given)
  const row = rows.find(({ name }) => name === given) ?? rows.find(({ name }) => name === `default/${given}`)
  if (row === undefined) return named(given)
  const found = credentialSource(row)
  const { source, name, remedy } = found
  if (source === 'vault' && name !== null) return named(name)
  if (source === 'connector') return { kind: 'connector', id: row.id, name: row.name, connectors: [row] }
  throw new ChaperoneError('conflict', {
    detail:
      name === null
        ? `The manifest of the connector ${row.name} names no credential. ${remedy}`
        : `The connector ${row.name} takes its credential from ${sourceText(found)}. ${remedy}`,
  })
}

function isNamed(row: ConnectorRow, vault: string): boolean {
  const { source, name } = credentialSource(row)
  return source === 'vault' && name === vault
}

type Views = {
  /** Names of the credentials in the encrypted store. */
  readonly stored: readonly string[]
  readonly minted: ReadonlyMap<string, MintedRow>
}

function views(rows: readonly ConnectorRow[], { stored, minted }: Views): readonly CredentialView[] {
  const used = rows.flatMap((row): CredentialView[] => {
    const { source, name } = credentialSource(row)
    if (source === 'none' || name === null) return []
    const isRead = hasLocalSource(row.spec.credential)
    const isStored = isRead ? (minted.get(row.id)?.secret ?? null) !== null : row.credential !== null
    return [{ name, source, connectors: [row.name], is_stored: isStored }]
  })
  const grouped = [...Map.groupBy(used, ({ source, name }) => `${source} ${name}`).values()].flatMap(
    (group) => {
      const [first] = group
      if (first === undefined) return []
      return [{ ...first, connectors: group.flatMap(({ connectors }) => connectors) }]
    },
  )
  const isUsed = (name: string) => grouped.some((one) => one.source === 'vault' && one.name === name)
  const unused = stored
    .filter((name) => !isUsed(name))
    .map((name) => ({ name, source: 'vault' as const, connectors: [], is_stored: true }))
  return [...grouped, ...unused].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function changed({ name, connectors }: Target): Changed {
  return { name, connectors: connectors.map((row) => row.name) }
}

async function note(
  q: Query,
  given: {
    readonly orgId: string
    readonly by: Actor
    readonly target: Target
    readonly verb: 'set' | 'removed'
  },
): Promise<void> {
  const { orgId, by, target, verb } = given
  const { name: credential, connectors } = changed(target)
  const details = { change: `credential.${verb}`, credential, connectors }
  await recordEvent(q, { orgId, actor: by, type: 'gateway.updated', details })
}

function changedMeanwhile(name: string): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail: `The credential ${name} was not changed, because its connectors changed at the same time. Try again.`,
  })
}

function inCluster(name: string): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail: `In a cluster a Secret holds the credential of a Connector, so ${name} is not stored here. Create the Secret, and name it in credential.secretRef of the Connector.`,
  })
}

function notStored(name: string): ChaperoneError {
  return new ChaperoneError('not_found', {
    detail: `No credential ${name} is stored. List the credentials: chaperone credential ls`,
  })
}
