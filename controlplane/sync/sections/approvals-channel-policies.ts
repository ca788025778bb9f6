import {
  approvalsChannelConnectorsPolicy,
  approvalsChannelElsewherePolicy,
  approvalsChannelPolicy,
} from '../../../core/decision/policies/approvals-channel.ts'
import type { PolicyEntry } from '../../../core/wire/gateway/sync.ts'
import type { ConnectorRow } from '../../features/connectors/rows.ts'
import type { Bound } from './configuration.ts'

type Placed = Pick<ConnectorRow, 'name' | 'gatewayIds'>

/**
 * Returns the policies that keep agents out of the channel with approval cards. The policies are not stored in the
 * database, so no user can change or disable them, and apply to every gateway. `connectors` are the connectors that can
 * reach the chat provider; their names are sent only to gateways that have them.
 */
export function approvalsChannelPolicies(
  channel: string,
  gateways: ReadonlyArray<{ readonly id: string }>,
  connectors: readonly Placed[],
): ReadonlyArray<Bound<PolicyEntry>> {
  const everywhere = [approvalsChannelPolicy(channel), approvalsChannelElsewherePolicy(channel)]
  const named = gateways.map(({ id }) => ({ id, names: namesAt(id, connectors) }))
  const groups = Map.groupBy(
    named.filter(({ names }) => names.length > 0),
    ({ names }) => JSON.stringify(names),
  )
  return [
    ...everywhere.map((entry) => ({ gatewayIds: [], entry })),
    ...[...groups.values()].flatMap(([first, ...more]) => {
      if (first === undefined) return []
      const gatewayIds = [first, ...more].map(({ id }) => id)
      return [{ gatewayIds, entry: approvalsChannelConnectorsPolicy(channel, first.names) }]
    }),
  ]
}

function namesAt(gatewayId: string, connectors: readonly Placed[]): readonly string[] {
  return connectors
    .filter(({ gatewayIds }) => gatewayIds.length === 0 || gatewayIds.includes(gatewayId))
    .map(({ name }) => name)
    .sort()
}
