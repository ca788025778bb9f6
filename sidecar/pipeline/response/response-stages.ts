import type { BodyReader } from '../body/body-reader.ts'
import { scanCandidates } from '../classification/candidate-scan.ts'
import type { Pacer } from '../pacer.ts'
import type { Journaled } from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import { handleWatchOf } from './handle-watch.ts'
import { HEADER_POLICY } from './header-policy.ts'
import type { ResponseStage } from './response-stage.ts'
import { toolFilterOf } from './tool-filter.ts'
import { workWatchOf } from './work-watch.ts'

export type StageDeps = Pick<PipelinePorts, 'clock' | 'handles' | 'hostedWork'> & {
  readonly pacer: Pacer
  readonly reader: BodyReader
}

/** Stages of a response to which no other stage applies. The array is shared, so that such a response allocates none. */
export const PLAIN_RESPONSE: readonly ResponseStage[] = [HEADER_POLICY]

/** Returns the stages that apply to the response of this exchange, in their order. */
export function responseStagesOf(exchange: Journaled, deps: StageDeps): readonly ResponseStage[] {
  const candidates = scanCandidates(exchange)
  const release = exchange.reservedBytes === undefined ? null : releaseOf(deps.reader)
  const handles = handleWatchOf(exchange, deps.handles)
  const work = workWatchOf(exchange, deps.hostedWork)
  const tools = toolFilterOf(exchange, deps.clock.nowMs(), deps.pacer)
  const mask = exchange.echoMask ?? null
  if ((candidates ?? release ?? handles ?? work ?? tools) === null)
    return mask === null ? PLAIN_RESPONSE : [HEADER_POLICY, mask]
  return [candidates, release, handles, work, HEADER_POLICY, tools, mask].filter((stage) => stage !== null)
}

/** Returns true when a stage reads the body. */
export function readBody(stages: readonly ResponseStage[]): boolean {
  return stages.some(({ readsBody }) => readsBody === true)
}

/**
 * Frees the memory of the request body when the response begins. The request is not sent again, and its response may
 * take minutes.
 */
function releaseOf(reader: BodyReader): ResponseStage {
  return {
    head(_status, _headers, exchange) {
      exchange.bodyBytes = undefined
      exchange.scan = undefined
      exchange.body.release()
      reader.release(exchange)
    },
  }
}
