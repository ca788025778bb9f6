import { ChaperoneError } from '../../../core/errors.ts'
import type { CommandReplies } from '../../../core/wire/gateway/commands.ts'
import { ConnectorAdd, ConnectorRemove } from '../../../core/wire/gateway/internal.ts'
import type { DeepReadonly } from '../../../core/wire/schema/fields.ts'
import { bumpVersion } from '../../db/config-version.ts'
import type { Query } from '../../db/query.ts'
import { gatewayActor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { authOf, ownedDomains } from '../connectors/domains.ts'
import { type ConnectorRow, getConnector, listConnectors } from '../connectors/rows.ts'
import { placeConnector, removeConnector } from '../connectors/service.ts'
import { refuseManaged } from '../manifests/managed.ts'
import {
  type CommandDeps,
  type CommandGateway,
  type CommandHandlers,
  parsed,
  sessionRequirement,
} from './context.ts'

type Names = 'connectors.add' | 'connectors.list' | 'connectors.remove'

export function createConnectorCommands(deps: CommandDeps): CommandHandlers<Names> {
  return {
    'connectors.add': async (gateway, input) => {
      const request = parsed(ConnectorAdd, input)
      const requireSession = await sessionRequirement(deps)
      requireSession('Changes of Connectors require')
      return add(deps, gateway, request)
    },
    'connectors.list': async ({ gatewayId }) => ({
      connectors: (await listConnectors(deps.db, gatewayId)).map(connectorView),
    }),
    'connectors.remove': async (gateway, input) => {
      const { id } = parsed(ConnectorRemove, input)
      // A session of a user is required, because requests to the hosts of a removed Connector may pass without a
      // decision.
      const requireSession = await sessionRequirement(deps)
      requireSession('Changes of Connectors require')
      await remove(deps, gateway, id)
      return { ok: true }
    },
  }
}

async function add(
  { db, keyring, orgId, identifyBot }: CommandDeps,
  { gatewayId, name: gateway }: CommandGateway,
  input: ConnectorAdd,
): Promise<DeepReadonly<CommandReplies['connectors.add']>> {
  return db.tx(async (q) => {
    const placement = { keyring, orgId, identifyBot, gatewayId, input, origin: 'command_line' as const }
    const { row, isNew, domains } = await placeConnector(q, placement)
    const change = isNew ? 'connector.added' : 'connector.updated'
    await changed(q, orgId, { change, gateway, connector: row.name, type: row.type, domains })
    return { ok: true, id: row.id, type: row.type, domains }
  })
}

async function remove(
  { db, orgId }: CommandDeps,
  { gatewayId, name: gateway }: CommandGateway,
  id: string,
): Promise<void> {
  await db.tx(async (q) => {
    const row = await getConnector(q, id)
    const isOurs = row !== undefined && (row.gatewayIds.length === 0 || row.gatewayIds.includes(gatewayId))
    if (!isOurs) {
      throw new ChaperoneError('not_found', {
        error: 'Connector not found',
        detail: `This gateway has no connector ${id}. GET /internal/connectors lists the connectors.`,
      })
    }
    refuseManaged(q, row)
    await removeConnector(q, id)
    await changed(q, orgId, { change: 'connector.removed', gateway, connector: row.name, type: row.type })
  })
}

type Changed = { readonly gateway: string } & Readonly<Record<string, unknown>>

async function changed(q: Query, orgId: string, details: Changed): Promise<void> {
  await recordEvent(q, { orgId, actor: gatewayActor(details.gateway), type: 'gateway.updated', details })
  await bumpVersion(q)
}

function connectorView(
  row: ConnectorRow,
): DeepReadonly<CommandReplies['connectors.list']>['connectors'][number] {
  return {
    id: row.id,
    type: row.type,
    domains: ownedDomains(row),
    auth_type: authOf(row.spec).type,
    has_token: row.credential !== null,
    source: row.source,
  }
}
