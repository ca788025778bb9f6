import type * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'
import type { ApiRequest } from '../listener/deps.ts'
import { type ApiAnswer, parseBody } from './api-http.ts'

/** One route of the internal API. */
export type ApiRoute = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly run: (request: ApiRequest) => ApiAnswer | Promise<ApiAnswer>
}

export function get(path: string, run: ApiRoute['run']): ApiRoute {
  return { method: 'GET', path, run }
}

/** Creates a POST route. The handler receives the body after validation by the schema. */
export function post<S extends z.ZodType>(
  path: string,
  schema: S,
  run: (body: z.infer<S>) => ApiAnswer | Promise<ApiAnswer>,
): ApiRoute {
  return { method: 'POST', path, run: async (request) => run(await parseBody(request, schema)) }
}

/**
 * Returns a function that finds the route of a request. The function throws 404 for an unknown path, and 405 for a
 * known path with another method.
 */
export function createRouter(
  routes: readonly ApiRoute[],
): (request: Pick<ApiRequest, 'method' | 'path'>) => ApiRoute {
  const byPath = new Map<string, readonly ApiRoute[]>()
  for (const route of routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route])
  return ({ method, path }) => {
    const known = byPath.get(path)
    if (known === undefined) {
      throw new ChaperoneError('not_found', {
        detail: `This port serves /health, /metrics and /internal/*, but not ${path}. Send a proxy request with an absolute URL or CONNECT.`,
      })
    }
    const route = known.find((candidate) => candidate.method === method)
    if (route !== undefined) return route
    const allowed = known.map((candidate) => candidate.method).join(', ')
    throw new ChaperoneError('method_not_allowed', { detail: `${path} takes ${allowed}.` })
  }
}
