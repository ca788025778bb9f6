import { ChaperoneError } from '../../core/errors.ts'
import type { ApiReply, ApiRequest } from '../listener/deps.ts'
import type { Log } from '../process/log.ts'
import { assertLocal, assertToken, failureReply, toReply } from './api-http.ts'
import { type ApiRoute, createRouter } from './api-route.ts'

export type InternalApiDeps = {
  readonly token: string
  /**
   * True when the gateway listens on loopback only. Scrapes and probes are then accepted from this machine only, like
   * calls under `/internal/`.
   */
  readonly isLoopbackOnly: boolean
  readonly routes: readonly ApiRoute[]
  readonly log: Pick<Log, 'error'>
}

/**
 * Creates the internal API of the gateway. The API serves JSON only, without CORS. Paths under `/internal/` are served
 * to this machine only and require the bearer token, which is checked before the body is read. Never rejects.
 */
export function createInternalApi({
  token,
  isLoopbackOnly,
  routes,
  log,
}: InternalApiDeps): (request: ApiRequest) => Promise<ApiReply> {
  const routeOf = createRouter(routes)
  return async (request) => {
    try {
      const isInternal = request.path.startsWith('/internal')
      if (isInternal || isLoopbackOnly) assertLocal(request)
      // The token is checked before the path, so that a client without the token cannot learn which paths exist.
      if (isInternal) {
        assertToken(request, token)
        request.onAuthenticated()
      }
      return toReply(await routeOf(request).run(request))
    } catch (error) {
      if (error instanceof ChaperoneError) return failureReply(error)
      log.error({ err: error, path: request.path }, 'internal API failed')
      return failureReply(new ChaperoneError('internal', { cause: error }))
    }
  }
}
