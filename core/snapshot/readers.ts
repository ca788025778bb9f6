import {
  AgentEntry,
  ConnectorEntry,
  GatewaySection,
  PermissionEntry,
  PolicyEntry,
  TokenKeyEntry,
} from '../wire/gateway/sync.ts'
import { createListReader, createSingleReader } from './read-section.ts'
import {
  standInForAgent,
  standInForConnector,
  standInForGateway,
  standInForPermission,
  standInForPolicy,
} from './stand-ins.ts'

/** Parsers by section. All permission sections have the same parser. */
export const READERS = {
  gateway: createSingleReader(GatewaySection, standInForGateway),
  agents: createListReader(AgentEntry, standInForAgent),
  connectors: createListReader(ConnectorEntry, standInForConnector),
  policies: createListReader(PolicyEntry, standInForPolicy),
  permissions: createListReader(PermissionEntry, standInForPermission),
  keys: createListReader<TokenKeyEntry>(TokenKeyEntry, () => null),
} as const
