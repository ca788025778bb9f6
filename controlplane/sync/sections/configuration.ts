import { isDeepStrictEqual } from 'node:util'
import { withoutExposedCredential } from '../../../core/connectors/credentials/clear-text.ts'
import { CONNECTOR_FIELDS } from '../../../core/crd/connector-fields.ts'
import type { FloorRules } from '../../../core/crd/gateway/floors.ts'
import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import type { ConnectorEntry, PolicyEntry, TokenKeyEntry } from '../../../core/wire/gateway/sync.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import { currentVersion } from '../../db/config-version.ts'
import type { Db, Query } from '../../db/query.ts'
import { currentEpoch } from '../../db/state-order.ts'
import { listPublicKeys } from '../../features/actions/tokens/rows.ts'
import { type AgentRow, listAgents } from '../../features/agents/rows.ts'
import {
  APPROVALS_BOT_WARNING,
  approvalsBotConnectors,
  connectorsToChat,
  MAX_CONNECTORS_TO_CHAT,
  TOO_MANY_TO_CHAT,
} from '../../features/chat/bot/bot.ts'
import { authOf } from '../../features/connectors/domains.ts'
import { type ConnectorRow, listConnectors } from '../../features/connectors/rows.ts'
import { listMinted, type MintedRow } from '../../features/credentials/rows.ts'
import { atItsFloor } from '../../features/gateways/floor.ts'
import { type GatewayRow, listGateways } from '../../features/gateways/rows.ts'
import { listAllPermissions, type PermissionRow } from '../../features/permissions/rows.ts'
import { listPolicies } from '../../features/policies/rows.ts'
import { approvalsChannelPolicies } from './approvals-channel-policies.ts'
import { notReplaced } from './built-in-policies.ts'
import { gatewayAtUrl } from './gateway-at-url.ts'
import { describedSecret, mintedFields, storedSource } from './minted-fields.ts'
import { type OrganisationTokenScope, organisationTokenGateways } from './organisation-token.ts'
import { policyEntry } from './policy-entry.ts'

export type Bound<E> = { readonly gatewayIds: readonly string[]; readonly entry: E }

/** Configuration of all gateways at one version, read in one transaction. */
export type Configuration = {
  readonly version: number
  /** Epoch of the database (see `StateOrder`). */
  readonly epoch: number
  readonly gateways: ReadonlyMap<string, GatewayRow>
  /**
   * Id of the gateway that executes the actions of agents without a gateway. Null when the setting `gateway_url` is not
   * set or matches no gateway (see `gatewayAtUrl`).
   */
  readonly urlGatewayId: string | null
  readonly agents: readonly AgentRow[]
  readonly connectors: ReadonlyArray<Bound<ConnectorEntry>>
  readonly policies: ReadonlyArray<Bound<PolicyEntry>>
  readonly permissions: ReadonlyMap<string, readonly PermissionRow[]>
  readonly keys: readonly TokenKeyEntry[]
}

export type ConfigurationDeps = {
  readonly db: Db
  readonly keyring: Keyring
  /**
   * Reader of the organisation's code-host token, and the Gateways and Connectors that may use this token. Such a
   * Connector uses the token if it has no credential of its own.
   */
  readonly organisationToken: {
    readonly read: (q: Query) => Promise<string | null>
    readonly scope: OrganisationTokenScope
  }
  /** Namespaces of the platform team. Absent means that no namespace belongs to the platform team. */
  readonly platformNamespaces?: ReadonlySet<string>
  /** Minimum strictness of Gateways (`GATEWAY_FLOORS`). When absent, there is no minimum. */
  readonly floorRules?: FloorRules
  /**
   * Returns the chat channel for approval cards and the token of the bot that posts the cards. Each is null when not
   * set.
   */
  readonly approvalsChat: (q: Query) => Promise<ApprovalsChat>
  /** Returns the setting `gateway_url`. Absent means that the setting is not set. */
  readonly gatewayUrl?: (q: Query) => Promise<string | null>
}

export type ApprovalsChat = { readonly channel: string | null; readonly botToken: string | null }

/**
 * Reads the configuration in one transaction of isolation level `repeatable read`, so that the rows match the version.
 */
export async function loadConfiguration(deps: ConfigurationDeps): Promise<Configuration> {
  return deps.db.tx(async (q) => {
    await q.query('set transaction isolation level repeatable read, read only')
    const { channel, botToken } = await deps.approvalsChat(q)
    const rows = await listConnectors(q)
    const bots = await approvalsBotConnectors(q, deps.keyring, { rows, botToken })
    const toChat = channel === null ? [] : connectorsToChat(deps.keyring, rows)
    const excess = toChat.slice(MAX_CONNECTORS_TO_CHAT)
    const withheld = new Map([
      ...excess.map(({ id }) => [id, TOO_MANY_TO_CHAT] as const),
      ...[...bots].map((id) => [id, APPROVALS_BOT_WARNING] as const),
    ])
    const gateways = await listGateways(q)
    const names = new Map(gateways.map(({ id, name }) => [id, name]))
    const { platformNamespaces = new Set() } = deps
    const tenancy = { platformNamespaces, namespaceOf: (id: string) => namespaceOf(names.get(id) ?? null) }
    const token = await deps.organisationToken.read(q)
    const url = (await deps.gatewayUrl?.(q)) ?? null
    const minted = await listMinted(q)
    return {
      version: await currentVersion(q),
      epoch: await currentEpoch(q),
      gateways: new Map(gateways.map((row) => [row.id, atItsFloor(row, deps.floorRules)])),
      urlGatewayId: url === null ? null : (gatewayAtUrl(url, gateways)?.id ?? null),
      agents: await listAgents(q),
      connectors: usableFirst(
        rows.flatMap((row) =>
          boundEntries(row, { deps, gateways, token, withheld, minted }).flatMap((bound) =>
            withoutLostDomains(row, bound),
          ),
        ),
      ),
      policies: [
        ...(channel === null
          ? []
          : approvalsChannelPolicies(channel, gateways, toChat.slice(0, MAX_CONNECTORS_TO_CHAT))),
        ...notReplaced(await listPolicies(q), platformNamespaces).flatMap((row) => policyEntry(row, tenancy)),
      ],
      permissions: Map.groupBy(await listAllPermissions(q), (row) => row.gatewayId),
      keys: [...(await listPublicKeys(q))],
    }
  })
}

type Loaded = {
  readonly deps: ConfigurationDeps
  readonly gateways: readonly GatewayRow[]
  /** Code-host token of the organisation; null when the token is not set. */
  readonly token: string | null
  /**
   * Reason why the credential of a connector is not sent to gateways, by connector. A credential of the bot that
   * posts approval cards is not sent, because an agent must not act as this bot.
   */
  readonly withheld: ReadonlyMap<string, string>
  /** Short-lived credentials that the control plane minted, by connector. */
  readonly minted: ReadonlyMap<string, MintedRow>
}

/**
 * Returns the configuration entry that gateways receive for a connector. Returns two entries when only some
 * Gateways of the connector may use the organisation's token.
 */
function boundEntries(
  row: ConnectorRow,
  { deps, gateways, token, withheld, minted }: Loaded,
): Bound<ConnectorEntry>[] {
  const why = withheld.get(row.id)
  const own = row.credential === null || why !== undefined ? null : deps.keyring.open(row.credential, row.id)
  const entry = {
    ...withoutExposedCredential({
      ...connectorEntry(row, own),
      ...describedSecret(row, own, { keyring: deps.keyring, source: storedSource(row) }),
      ...mintedFields(row, own, { keyring: deps.keyring, minted }),
    }),
    ...(why === undefined ? {} : { withheld: why }),
  }
  if (own !== null || token === null) return [{ gatewayIds: row.gatewayIds, entry }]
  const users = organisationTokenGateways(row, gateways, deps.organisationToken.scope)
  if (users.length === 0) return [{ gatewayIds: row.gatewayIds, entry }]
  const others = gateways
    .map(({ id }) => id)
    .filter((id) => !users.includes(id) && (row.gatewayIds.length === 0 || row.gatewayIds.includes(id)))
  const shared = {
    gatewayIds: users,
    entry: {
      ...connectorEntry(row, token),
      ...describedSecret(row, token, { keyring: deps.keyring, source: 'organisation' }),
    },
  }
  // Omits an entry with an empty list of gateways, because an empty list would mean every gateway.
  return others.length === 0 ? [shared] : [shared, { gatewayIds: others, entry }]
}

/**
 * Returns the entries of a connector without its lost domains, which another connector owns at a Gateway
 * (`lostDomains`). All Gateways at which the connector keeps its domains share one entry. Each other Gateway has an
 * entry of its own.
 */
function withoutLostDomains(
  { lostDomains }: ConnectorRow,
  { gatewayIds, entry }: Bound<ConnectorEntry>,
): Bound<ConnectorEntry>[] {
  const narrowed = gatewayIds.filter((id) => lostDomains[id] !== undefined)
  if (narrowed.length === 0) return [{ gatewayIds, entry }]
  const whole = gatewayIds.filter((id) => !narrowed.includes(id))
  const left = narrowed.map((id) => {
    const domains = entry.domains.filter((domain) => lostDomains[id]?.includes(domain.toLowerCase()) !== true)
    return { gatewayIds: [id], entry: { ...entry, domains } }
  })
  return whole.length === 0 ? left : [{ gatewayIds: whole, entry }, ...left]
}

function connectorEntry(row: ConnectorRow, secret: string | null): ConnectorEntry {
  const { spec } = row
  return {
    id: row.id,
    name: row.name,
    type: spec.type,
    domains: spec.domains ?? [],
    ports: spec.ports,
    auth: authOf(spec),
    secret,
    upstream: upstreamOf(spec),
    tlsMode: spec.tls.mode,
    errorShape: spec.errorShape,
    ...sentFieldsOf(spec),
    actions: spec.actions,
    source: row.source,
    managed_by: row.managedBy,
  }
}

type SentFields = Pick<ConnectorEntry, keyof typeof CONNECTOR_FIELDS>

const DEFAULTS = Object.entries(CONNECTOR_FIELDS).map(
  ([name, schema]) => [name as keyof SentFields, schema.parse(undefined)] as const,
)

/**
 * Returns the fields of a Connector's spec that gateways receive under the field names of the spec. Omits fields that
 * have their default value.
 */
function sentFieldsOf(spec: ConnectorRow['spec']): SentFields {
  const set = DEFAULTS.filter(([name, byDefault]) => !isDeepStrictEqual(spec[name], byDefault))
  return Object.fromEntries(set.map(([name]) => [name, spec[name]]))
}

/**
 * Sorts connectors that have a credential or need none first. Of two connectors that claim one host, the first
 * connector in the list owns the host.
 */
function usableFirst(connectors: ReadonlyArray<Bound<ConnectorEntry>>): ReadonlyArray<Bound<ConnectorEntry>> {
  const isUsable = ({ entry: { secret, minted, auth } }: Bound<ConnectorEntry>) =>
    secret !== null || minted !== undefined || auth.type === 'none'
  return [...connectors.filter(isUsable), ...connectors.filter((connector) => !isUsable(connector))]
}

function upstreamOf({ upstream }: ConnectorRow['spec']): ConnectorEntry['upstream'] {
  return {
    ...(upstream.url === undefined ? {} : { url: upstream.url }),
    ...(upstream.caBundle === undefined ? {} : { caBundle: upstream.caBundle }),
    allowPrivateAddresses: upstream.allowPrivateAddresses,
    ...(upstream.allowPlaintextCredential ? { allowPlaintextCredential: true } : {}),
  }
}
