import { EffectiveQuery, EffectiveReply } from '../../../core/wire/permissions.ts'
import { type Route, route } from '../../http/route.ts'
import type { EffectivePermissions } from './effective.ts'

export type EffectiveRoutesDeps = { readonly effectivePermissions: EffectivePermissions }

export function createEffectiveRoutes({ effectivePermissions }: EffectiveRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/effective-permissions',
      auth: 'explanations/get',
      isNamespaced: true,
      summary: 'What an agent may do with every action of a connector type, and what settles it',
      query: EffectiveQuery,
      statuses: [404],
      response: EffectiveReply,
      handler: async ({ namespaces, query }) => effectivePermissions(namespaces, query),
    }),
  ]
}
