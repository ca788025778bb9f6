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
      summary:
        'Returns the decision for an agent and every action of a connector type, and the rule that settles it',
      query: EffectiveQuery,
      statuses: [404],
      response: EffectiveReply,
      handler: async ({ namespaces, query }) => effectivePermissions(namespaces, query),
    }),
  ]
}
