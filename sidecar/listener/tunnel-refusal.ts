import type { RawHeaders } from '../../core/request/canonical.ts'
import type { FrontDeps } from './deps.ts'

/** An answer of the pipeline to a connection, for the requests on it. */
export type Refusal = {
  readonly status: number
  readonly headers: RawHeaders
  readonly body: Buffer | string
}

/** A client that opened a refused tunnel and sends nothing does not keep its connection. */
const SILENCE_MS = 5_000

/**
 * Dependencies of a tunnel in which every request is answered with the refusal: no request reaches the pipeline, and the
 * connection has its one record already.
 */
export function refusingDeps(deps: FrontDeps, { status, headers, body }: Refusal): FrontDeps {
  const { limits } = deps
  return {
    ...deps,
    leaf: deps.refusalLeaf,
    limits: { ...limits, idleTimeoutMs: Math.min(limits.idleTimeoutMs, SILENCE_MS) },
    handle({ reply, transport }) {
      const isHttp1 = transport !== 'connect-h2' && transport !== 'port-h2'
      reply.send(status, isHttp1 ? [...headers, 'Connection', 'close'] : headers, body)
      return Promise.resolve()
    },
  }
}
