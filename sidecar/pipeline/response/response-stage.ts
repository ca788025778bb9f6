import type { RawHeaders } from '../../../core/request/canonical.ts'
import type { Answered } from '../phases.ts'
import type { BodyEdit } from './body-edit.ts'

/**
 * One stage of the response, between the upstream and the reply. The relay calls the hooks of all stages in the order
 * of their list. A stage has only the hooks that it needs, and an exchange has only the stages that apply to it.
 */
export type ResponseStage = {
  /** True when the stage reads the body, which must then be uncompressed. */
  readonly readsBody?: boolean
  /** Called with each chunk of a streamed request body before it is sent, or once with the whole body. */
  sent?(chunk: Buffer): void
  /** Returns true for the status of a final response that is discarded, because the request is sent again. */
  discards?(status: number): boolean
  /** Called with the head of the final response as the upstream sent it. Not called for a switch of protocols. */
  head?(status: number, headers: RawHeaders, exchange: Answered): void
  /**
   * Returns the fields to forward: of interim responses, of the final head, of a switch of protocols and of trailers.
   */
  fields?(raw: RawHeaders): RawHeaders
  /** Called with the fields to forward. Returns an edit of the body; null when the body is forwarded unchanged. */
  edit?(status: number, headers: RawHeaders, exchange: Answered): BodyEdit | null
  /** Called with each chunk of the body as the upstream sent it. */
  data?(chunk: Buffer): void
  /** Called when the response is complete. Not called for a truncated response. */
  end?(): void
  /** Called when the agent has received a response, complete or truncated. Not called when no response was started. */
  answered?(exchange: Answered): void
  /**
   * Called last, for every request. `isCut` is true when the client disconnected or a kill switch aborted the exchange.
   */
  over?(isCut: boolean): void
}
