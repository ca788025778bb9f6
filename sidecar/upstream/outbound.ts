import type { Readable } from 'node:stream'
import type { RawHeaders } from '../../core/request/canonical.ts'
import type { EchoMask } from '../pipeline/response/echo-mask.ts'
import type { AnswerEdit } from './answer-edit.ts'
import type { HeadText } from './http1/request-head.ts'
import type { UpstreamTarget } from './target.ts'

/** One outbound request, including the credential. `path` is sent byte for byte. */
export type Outbound = {
  readonly target: UpstreamTarget
  readonly method: string
  readonly path: string
  readonly rawHeaders: RawHeaders
  /** Memo of the head that is written for exactly these `rawHeaders`. */
  readonly headText?: HeadText | null
  /** Request body. Set to null when the request is sent, so that the buffer is freed: the response may take minutes. */
  body: Buffer | Readable | null
  readonly watch?: BodyWatch | null
  /** Called when the response head arrives. */
  readonly onHead?: (() => void) | null
  readonly edit?: AnswerEdit | null
  readonly answer?: AnswerWatch | null
  /** Masks the injected credential in the response. */
  readonly echoMask?: EchoMask | null
}

/** Observes the response without changing it. */
export type AnswerWatch = {
  head(status: number, headers: RawHeaders): void
  data(chunk: Buffer): void
  /** Called when the response is complete. Not called for a response that was cut. */
  end?(): void
}

/** Observes the request body without changing it. */
export type BodyWatch = {
  /** Called with every chunk of a streamed body, or once with the whole body. */
  push(chunk: Buffer): void
  /** Called when the agent has received a response, complete or cut. Not called when no response was started. */
  answered(): void
}
