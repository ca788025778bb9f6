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
      summary: 'Every kind of connector, the hosts it owns by itself and how many actions it knows',
      response: ConnectorKindsReply,
      handler: async () => ({ connectors: catalogue.kinds() }),
    }),
    route({
      method: 'GET',
      path: '/api/dashboard/catalogue/:type',
      auth: 'explanations/get',
      isNamespaced: true,
      summary: 'The actions that a kind of connector knows by name, with their effect and risk',
      params: ConnectorTypeParams,
      response: ActionsReply,
      handler: async ({ params }) => ({ type: params.type, actions: catalogue.actions(params.type) }),
    }),
  ]
}
