import type { Duplex } from 'node:stream'
import type { ResponseHead } from './http1/response-head.ts'

/** Events of the response to one request. No call follows `end`, `upgrade` or `error`. */
export type ResponseHandler = {
  interim(status: number, headers: readonly string[]): void
  head(status: number, headers: readonly string[], hasBody: boolean): void
  /** Returns false to pause reading until `resume` is called. */
  data(chunk: Buffer): boolean
  end(trailers: readonly string[]): void
  upgrade(head: ResponseHead, socket: Duplex): void
  error(error: Error): void
}

/**
 * Receives the response of an upstream. All data of an upstream reaches the exchange and the agent through its
 * receiver.
 */
export type AnswerReceiver = ResponseHandler & {
  /** True when the exchange was answered or aborted, or has failed. Nothing may be sent upstream then. */
  readonly isOver: boolean
  /** Called with the open transport before the request is sent on it. */
  startsOn(carrier: Carrier): void
  /** Called with each chunk of a streamed body before it is sent, or once with the whole body. */
  sent(chunk: Buffer): void
}

/** Transport of a request: an HTTP/1.1 connection, or a stream of a shared HTTP/2 session. */
export type Carrier = {
  /** Resumes reading of the response. */
  resume(): void
  /** Aborts the request in flight; the receiver gets an error. */
  abort(cause: Error): void
  /**
   * Pings the upstream where the protocol allows it. Resolves with false when the upstream does not answer or does not
   * read. Never rejects.
   */
  isThere?(): Promise<boolean>
}
