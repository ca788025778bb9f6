import type { RawHeaders } from '../../core/request/canonical.ts'
import type { FrontDeps } from './deps.ts'

/** Response of the pipeline to a refused connection. The gateway sends it to each request on that connection. */
export type Refusal = {
  readonly status: number
  readonly headers: RawHeaders
  readonly body: Buffer | string
}

/** Idle timeout of a refused tunnel in milliseconds. */
const SILENCE_MS = 5_000

/**
 * Returns dependencies with which every request in a tunnel receives the refusal. No such request reaches the pipeline,
 * because the refusal of the connection is already recorded.
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
