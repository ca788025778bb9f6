import type { RawHeaders } from '../../../core/request/canonical.ts'
import { connectionTokens, HOP_BY_HOP } from '../../http/hop-by-hop.ts'
import type { BodyReader } from '../body/body-reader.ts'
import { scanCandidates } from '../classification/candidate-scan.ts'
import type { Pacer } from '../pacer.ts'
import type { Journaled } from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import { handleWatchOf } from './handle-watch.ts'
import type { ResponseStage } from './response-stage.ts'
import { toolFilterOf } from './tool-filter.ts'
import { workWatchOf } from './work-watch.ts'

export type StageDeps = Pick<PipelinePorts, 'clock' | 'handles' | 'hostedWork'> & {
  readonly pacer: Pacer
  readonly reader: BodyReader
}

/** Removes the fields that the gateway does not forward. Every response passes this stage. */
const HEADER_POLICY: ResponseStage = { fields: inboundHeaders }

/**
 * Stages of a response that only needs the header policy. The array is shared, so that such a response allocates none.
 */
export const PLAIN_RESPONSE: readonly ResponseStage[] = [HEADER_POLICY]

/** Returns the stages that apply to the response of this exchange, in their order. */
export function responseStagesOf(exchange: Journaled, deps: StageDeps): readonly ResponseStage[] {
  const candidates = scanCandidates(exchange, deps.clock)
  const release = exchange.reservedBytes === undefined ? null : releaseOf(deps.reader)
  const handles = handleWatchOf(exchange, deps.handles, deps.clock)
  const work = workWatchOf(exchange, deps.hostedWork, deps.clock)
  const tools = toolFilterOf(exchange, deps)
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

/**
 * Response headers that are not forwarded. Alt-Svc would lead the agent to another host or to QUIC, which are not
 * governed.
 */
const ANSWER_ONLY: ReadonlySet<string> = new Set([...HOP_BY_HOP, 'alt-svc'])
const ANSWER_LENGTHS: ReadonlySet<number> = new Set([...ANSWER_ONLY].map((name) => name.length))

/** Returns the end-to-end headers of the response, without framing headers. */
export function inboundHeaders(raw: RawHeaders): string[] {
  const named = connectionTokens(raw)
  const out: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? ''
    if (endsHere(name) || named?.has(name.toLowerCase()) === true) continue
    out.push(name, raw[at + 1] ?? '')
  }
  return out
}

/**
 * Returns true when the gateway does not forward the header. A comparison of lengths excludes most names without a
 * comparison of text.
 */
function endsHere(name: string): boolean {
  return (ANSWER_LENGTHS.has(name.length) && ANSWER_ONLY.has(name.toLowerCase())) || OURS.test(name)
}

/**
 * Matches headers of the gateway's own responses. Agents and tests read from these headers which component refused a
 * request, so an upstream must not set them.
 */
const OURS = /^x[-_]service[-_]/i
