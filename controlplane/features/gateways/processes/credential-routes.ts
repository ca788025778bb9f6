import { RefreshCredentialBody, RefreshCredentialReply } from '../../../../core/wire/gateway/minted-secret.ts'
import { NarrowedTokenBody, NarrowedTokenReply } from '../../../../core/wire/gateway/narrowed-token.ts'
import { type ConnectorEntry, SYNC_PATHS } from '../../../../core/wire/gateway/sync.ts'
import { type Route, route } from '../../../http/route.ts'
import type { SectionLibrary } from '../../../sync/sections/library.ts'
import type { NarrowedTokens } from '../../credentials/minting/narrowing/narrowed-tokens.ts'
import type { Credentials } from '../../credentials/service.ts'
import { type GatewayPrincipal, gatewayOf } from './principal.ts'

type Deps = {
  readonly credentials: Pick<Credentials, 'refused'>
  readonly library: Pick<SectionLibrary, 'of'>
}

export function credentials({ credentials: service, library }: Deps): Route {
  return route({
    method: 'POST',
    path: SYNC_PATHS.credentials,
    auth: 'gateway',
    summary: 'Replaces a short-lived credential that the upstream refused with 401',
    body: RefreshCredentialBody,
    response: RefreshCredentialReply,
    handler: async ({ principal, body }) => {
      const owner = gatewayOf(principal)
      if (!hasConnector(owner, body.connector_id, { library, isUsable: hasSecret }))
        return { refreshing: false }
      const { gatewayId: id, name } = owner
      return { refreshing: await service.refused({ gateway: { id, name }, secret: body }) }
    },
  })
}

type NarrowDeps = {
  readonly narrowedTokens: Pick<NarrowedTokens, 'get'>
  readonly library: Pick<SectionLibrary, 'of'>
}

export function narrowedToken({ narrowedTokens, library }: NarrowDeps): Route {
  return route({
    method: 'POST',
    path: SYNC_PATHS.narrowedTokens,
    auth: 'gateway',
    summary: 'Returns a short-lived token of a Connector, limited to the actions of one request',
    body: NarrowedTokenBody,
    response: NarrowedTokenReply,
    handler: async ({ principal, body }) => {
      const owner = gatewayOf(principal)
      if (!hasConnector(owner, body.connector_id, { library, isUsable: hasTokens })) return NOT_OWN
      const { gatewayId: id, name } = owner
      return narrowedTokens.get({ id, name }, body)
    },
  })
}

const NOT_OWN: NarrowedTokenReply = {
  outcome: 'unavailable',
  reason:
    'The agent of this sidecar may not use the Connector, so it gets no token. Check the Permissions of the agent.',
}

function hasSecret({ secret }: ConnectorEntry): boolean {
  return secret !== null
}

/**
 * Reports whether the Connector has narrowed tokens. Its `secret` is not checked, because the token of the Connector
 * itself may not be minted yet.
 */
function hasTokens({ minted }: ConnectorEntry): boolean {
  return minted?.narrow === true
}

type Share = {
  readonly library: Pick<SectionLibrary, 'of'>
  readonly isUsable: (entry: ConnectorEntry) => boolean
}

/** Reports whether the gateway process may use the Connector. A sidecar may use only the Connectors of its agent. */
function hasConnector(
  { gatewayId, sidecar }: GatewayPrincipal,
  connectorId: string,
  { library, isUsable }: Share,
): boolean {
  // For a gateway process outside pods, the credentials service checks that the Connector serves the Gateway.
  if (sidecar === null) return true
  const text = library.of(gatewayId, { agent: sidecar.agent.name })?.texts.get('connectors') ?? '[]'
  const entries: readonly ConnectorEntry[] = JSON.parse(text)
  return entries.some((entry) => entry.id === connectorId && isUsable(entry))
}
