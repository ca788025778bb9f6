import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import { covers } from '../../../core/wire/access/rights.ts'
import type { CredentialView, TestCredentialReply } from '../../../core/wire/credentials.ts'
import { bumpVersion } from '../../db/config-version.ts'
import type { Db, Query } from '../../db/query.ts'
import { createScopedQuery } from '../../db/scoped-query.ts'
import type { Actor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { type ApprovalsBotDeps, refuseApprovalsBot } from '../chat/bot.ts'
import { type ConnectorRow, listConnectors, listConnectorsIn } from '../connectors/rows.ts'
import { credentialPlace, listCredentials } from './rows.ts'
import { credentialSource } from './source.ts'
import { deleteCredential, putCredential, setConnectorCredential } from './store.ts'
import { type TestDeps, testCredential } from './test.ts'

export type CredentialsDeps = ApprovalsBotDeps &
  TestDeps & {
    readonly db: Db
    /** Applies the Connectors of manifests that name a credential, in the transaction of its change. */
    readonly desired: {
      credentialChanged(name: string, change: (q: Query) => Promise<void>): Promise<boolean>
    }
    /** Whether the installation runs in a cluster, where Secrets hold the credentials of Connectors. */
    readonly isCluster: boolean
  }

/** Sets and deletes the credentials of Connectors: those of the encrypted store, and those of rows of the API. */
export type Credentials = {
  list(namespaces: Namespaces): Promise<readonly CredentialView[]>
  /** `name`: a credential that a manifest names, or a Connector. */
  set(by: Actor, given: { readonly name: string; readonly secret: string }): Promise<Changed>
  remove(by: Actor, name: string): Promise<Changed>
  /** Sends a read to the provider with the credential of the connector. Throws `not_found` for an unknown connector. */
  test(by: Actor, connectorId: string, namespaces: Namespaces): Promise<TestCredentialReply>
}

/** A changed credential, and the names of the Connectors that use it. */
export type Changed = { readonly name: string; readonly connectors: readonly string[] }

export function createCredentials(deps: CredentialsDeps): Credentials {
  const { db, orgId, keyring } = deps
  const find = async (given: string) => {
    const stored = (await listCredentials(db, orgId)).map(({ name }) => name)
    return targetOf(await listConnectors(db), stored, given)
  }
  const change = (by: Actor, target: Target, write: (q: Query) => Promise<void>, verb: 'set' | 'removed') => {
    const apply = async (q: Query) => {
      await write(q)
      await note(q, { orgId, by, target, verb })
    }
    if (target.kind === 'vault') return deps.desired.credentialChanged(target.name, apply)
    return db.tx(async (q) => {
      await apply(q)
      await bumpVersion(q)
    })
  }
  return {
    async list(namespaces) {
      const rows = await listConnectorsIn(createScopedQuery(db, namespaces))
      const stored = covers(namespaces, null) ? await listCredentials(db, orgId) : []
      return views(
        rows,
        stored.map(({ name }) => name),
      )
    },
    async set(by, { name: given, secret }) {
      const target = await find(given)
      if (target.kind === 'vault' && deps.isCluster) throw inCluster(target.name)
      for (const { type } of target.connectors) await refuseApprovalsBot(db, deps, { type, token: secret })
      const write = (q: Query) =>
        target.kind === 'vault'
          ? putCredential(q, orgId, {
              name: target.name,
              secret: keyring.seal(secret, credentialPlace(target.name)),
            })
          : setConnectorCredential(q, target.id, keyring.seal(secret, target.id))
      await change(by, target, write, 'set')
      return changed(target)
    },
    async remove(by, given) {
      const target = await find(given)
      const write = async (q: Query) => {
        if (target.kind === 'connector') return setConnectorCredential(q, target.id, null)
        if (!(await deleteCredential(q, orgId, target.name))) throw notStored(target.name)
      }
      await change(by, target, write, 'removed')
      return changed(target)
    },
    async test(by, connectorId, namespaces) {
      const rows = await listConnectorsIn(createScopedQuery(db, namespaces))
      const row = rows.find(({ id }) => id === connectorId)
      if (row === undefined)
        throw new ChaperoneError('not_found', {
          detail: `There is no connector ${connectorId}. GET /api/dashboard/connectors lists every connector.`,
        })
      const reply = await testCredential(db, deps, row)
      const details = { change: 'credential.tested', connector: row.name, ok: reply.ok, status: reply.status }
      await recordEvent(db, { orgId, actor: by, type: 'gateway.updated', details })
      return reply
    },
  }
}

/** Target of a change: an entry of the encrypted store, or the credential of a Connector of the API. */
type Target = {
  readonly name: string
  readonly connectors: readonly ConnectorRow[]
} & ({ readonly kind: 'vault' } | { readonly kind: 'connector'; readonly id: string })

/** Throws `conflict` for a Connector whose manifest names another source, with the step that sets its credential. */
function targetOf(rows: readonly ConnectorRow[], stored: readonly string[], given: string): Target {
  const named = (vault: string): Target => ({
    kind: 'vault',
    name: vault,
    connectors: rows.filter((row) => isNamed(row, vault)),
  })
  if (stored.includes(given) || rows.some((row) => isNamed(row, given))) return named(given)
  const row = rows.find(({ name }) => name === given) ?? rows.find(({ name }) => name === `default/${given}`)
  if (row === undefined) return named(given)
  const { source, name, remedy } = credentialSource(row)
  if (source === 'vault' && name !== null) return named(name)
  if (source === 'connector') return { kind: 'connector', id: row.id, name: row.name, connectors: [row] }
  throw new ChaperoneError('conflict', {
    detail:
      name === null
        ? `The manifest of the connector ${row.name} names no credential. ${remedy}`
        : `The connector ${row.name} takes its credential from the Secret ${name}. ${remedy}`,
  })
}

function isNamed(row: ConnectorRow, vault: string): boolean {
  const { source, name } = credentialSource(row)
  return source === 'vault' && name === vault
}

function views(rows: readonly ConnectorRow[], stored: readonly string[]): readonly CredentialView[] {
  const used = rows.flatMap((row): CredentialView[] => {
    const { source, name } = credentialSource(row)
    if (source === 'none' || name === null) return []
    return [{ name, source, connectors: [row.name], is_stored: row.credential !== null }]
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
