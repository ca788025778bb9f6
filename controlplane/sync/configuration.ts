import { parsePolicyYaml } from '../../core/decision/policy-document.ts'
import type { ConnectorEntry, PolicyEntry, TokenKeyEntry } from '../../core/wire/sync.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { authOf } from '../services/connector-domains.ts'
import { type AgentRow, listAgents } from '../store/agents.ts'
import { currentVersion } from '../store/config-version.ts'
import { type ConnectorRow, listConnectors } from '../store/connectors.ts'
import { type GatewayRow, listGateways } from '../store/gateways.ts'
import { listAllPermissions, type PermissionRow } from '../store/permissions.ts'
import { listPolicies, type PolicyRow } from '../store/policies.ts'
import { listPublicKeys } from '../store/public-keys.ts'
import type { Db, Query } from '../store/query.ts'

type Bound<E> = { readonly gatewayIds: readonly string[]; readonly entry: E }

/** Everything that gateways are told, read at one version in one transaction. */
export type Configuration = {
  readonly version: number
  readonly gateways: ReadonlyMap<string, GatewayRow>
  readonly agents: readonly AgentRow[]
  readonly connectors: ReadonlyArray<Bound<ConnectorEntry>>
  readonly policies: ReadonlyArray<Bound<PolicyEntry>>
  readonly permissions: ReadonlyMap<string, readonly PermissionRow[]>
  readonly keys: readonly TokenKeyEntry[]
}

export type ConfigurationDeps = {
  readonly db: Db
  readonly keyring: Keyring
  /** A credential of the settings for connectors that have none of their own, by connector type. */
  readonly fallbackSecret: (q: Query, connectorType: string) => Promise<string | null>
}

/** Reads it all in one snapshot of the database, so that rows and version belong together. */
export async function loadConfiguration(deps: ConfigurationDeps): Promise<Configuration> {
  return deps.db.tx(async (q) => {
    await q.query('set transaction isolation level repeatable read, read only')
    const connectors = await listConnectors(q)
    return {
      version: await currentVersion(q),
      gateways: new Map((await listGateways(q)).map((row) => [row.id, row])),
      agents: await listAgents(q),
      connectors: usableFirst(await Promise.all(connectors.map((row) => connectorEntry(row, deps, q)))),
      policies: (await listPolicies(q)).flatMap(policyEntry),
      permissions: Map.groupBy(await listAllPermissions(q), (row) => row.gatewayId),
      keys: [...(await listPublicKeys(q))],
    }
  })
}

async function connectorEntry(
  row: ConnectorRow,
  { keyring, fallbackSecret }: ConfigurationDeps,
  q: Query,
): Promise<Bound<ConnectorEntry>> {
  const { spec } = row
  const secret =
    row.credential === null ? await fallbackSecret(q, row.type) : keyring.open(row.credential, row.id)
  const entry: ConnectorEntry = {
    id: row.id,
    name: row.name,
    type: spec.type,
    domains: spec.domains ?? [],
    ports: spec.ports,
    ...(spec.baseUrl === undefined ? {} : { baseUrl: spec.baseUrl }),
    ...(spec.endpoint === undefined ? {} : { endpoint: spec.endpoint }),
    auth: authOf(spec),
    secret,
    upstream: upstreamOf(spec),
    tlsMode: spec.tls.mode,
    errorShape: spec.errorShape,
    ...(spec.mcp === undefined ? {} : { mcp: spec.mcp }),
    ...(spec.environment === undefined ? {} : { environment: spec.environment }),
    actions: spec.actions,
    source: row.source,
    managed_by: row.managedBy,
  }
  return { gatewayIds: row.gatewayIds, entry }
}

/** Where two connectors claim a host the first has it: the one that has a credential to send. */
function usableFirst(connectors: ReadonlyArray<Bound<ConnectorEntry>>): ReadonlyArray<Bound<ConnectorEntry>> {
  const isUsable = ({ entry }: Bound<ConnectorEntry>) => entry.secret !== null || entry.auth.type === 'none'
  return [...connectors.filter(isUsable), ...connectors.filter((connector) => !isUsable(connector))]
}

/** Only policies whose tests passed once have a text in force; it was compiled before it was stored. */
function policyEntry(row: PolicyRow): ReadonlyArray<Bound<PolicyEntry>> {
  if (!row.enabled || row.activeYaml === null || row.activeVersion === null) return []
  const document = { ...parsePolicyYaml(row.activeYaml).document, tests: [] }
  const { id, name, priority, mode } = row
  return [
    { gatewayIds: row.gatewayIds, entry: { id, name, version: row.activeVersion, priority, mode, document } },
  ]
}

function upstreamOf({ upstream }: ConnectorRow['spec']): ConnectorEntry['upstream'] {
  return {
    ...(upstream.url === undefined ? {} : { url: upstream.url }),
    ...(upstream.caBundle === undefined ? {} : { caBundle: upstream.caBundle }),
    allowPrivateAddresses: upstream.allowPrivateAddresses,
  }
}
