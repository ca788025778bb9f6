import { OpenApiReply } from '../../core/wire/health.ts'
import { VERSION } from '../version.ts'
import { openApiDocument } from './openapi.ts'
import { type Route, route } from './route.ts'

/**
 * Serves the OpenAPI document. `routes` is called at the first request and not earlier, because the list of routes
 * contains this route too.
 */
export function createOpenApiRoutes(deps: {
  readonly routes: () => readonly Route[]
  readonly baseUrl: () => string
}): readonly Route[] {
  let made: OpenApiReply | undefined
  return [
    route({
      method: 'GET',
      path: '/api/openapi.json',
      auth: 'none',
      summary: 'Returns this document',
      response: OpenApiReply,
      handler: async () => {
        made ??= openApiDocument(deps.routes(), { version: VERSION, url: deps.baseUrl() })
        return made
      },
    }),
  ]
}
