import { ActionsReply, ConnectorKindsReply, ConnectorTypeParams } from '../../../core/wire/connectors.ts'
import { type Route, route } from '../../http/route.ts'
import type { CatalogueReading } from './catalogue.ts'

export function createCatalogueRoutes({
  catalogue,
}: {
  readonly catalogue: CatalogueReading
}): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/catalogue',
      auth: 'explanations/get',
      isNamespaced: true,
      summary: 'Lists the connector types with their default hosts and number of actions',
      response: ConnectorKindsReply,
      handler: async () => ({ connectors: catalogue.kinds() }),
    }),
    route({
      method: 'GET',
      path: '/api/dashboard/catalogue/:type',
      auth: 'explanations/get',
      isNamespaced: true,
      summary: 'Lists the actions of a connector type with their effect and risk',
      params: ConnectorTypeParams,
      response: ActionsReply,
      handler: async ({ params }) => ({ type: params.type, actions: catalogue.actions(params.type) }),
    }),
  ]
}
