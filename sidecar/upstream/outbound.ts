import type { Readable } from 'node:stream'
import type { RawHeaders } from '../../core/request/canonical.ts'
import type { EchoMask } from '../pipeline/response/echo-mask.ts'
import type { AnswerEdit } from './answer-edit.ts'
import type { UpstreamTarget } from './target.ts'

/** One request as it leaves, credential included. `target` bytes go out exactly as they are. */
export type Outbound = {
  readonly target: UpstreamTarget
  readonly method: string
  readonly path: string
  readonly rawHeaders: RawHeaders
  /** Null once it is sent: the answer may take minutes. */
  body: Buffer | Readable | null
  readonly watch?: BodyWatch | null
  /** Called when the answer begins. */
  readonly onHead?: (() => void) | null
  readonly edit?: AnswerEdit | null
  readonly answer?: AnswerWatch | null
  /** Takes the injected credential out of the answer. */
  readonly echoMask?: EchoMask | null
}

/** Observes the response without changing it. */
export type AnswerWatch = {
  head(status: number, headers: RawHeaders): void
  data(chunk: Buffer): void
  /** The answer is whole. Not called for one that was cut. */
  end?(): void
}

/** Observes the request body without changing it. */
export type BodyWatch = {
  /** Every chunk, or the whole body at once. */
  push(chunk: Buffer): void
  /** The agent was answered, wholly or in part; not called when nothing was answered. */
  answered(): void
}
