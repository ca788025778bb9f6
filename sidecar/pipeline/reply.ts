import type { Duplex } from 'node:stream'
import type { EventFormat } from '../../core/connectors/event-format.ts'
import type { RawHeaders } from '../../core/request/canonical.ts'
import type { AfterRecord } from './ports.ts'

/** Reply to the client in its HTTP version. The pipeline calls exactly one of `send`, `stream` and `upgrade`, once. */
export type Reply = {
  readonly isStarted: boolean
  /**
   * Sends a complete response. Adds the framing, so `headers` must contain none. An unread request body is drained, or
   * the connection is closed. With `afterRecord` the response is sent once the record of the request is written.
   */
  send(status: number, headers: RawHeaders, body: Buffer | string, afterRecord?: AfterRecord): void
  /** Starts the upstream's response. `headers` has no hop-by-hop fields; the listener sets the framing. */
  stream(status: number, headers: RawHeaders, hasBody: boolean): ReplyStream
  /** Sends an interim response, for example 103. The listener itself sends 100 when the request body is first read. */
  interim(status: number, headers: RawHeaders): void
  /** Hijacks the connection: writes the head unchanged and returns the raw stream. Only for upgrades and tunnels. */
  upgrade(head: string): Duplex
  /**
   * Pings the client if the protocol allows it. Resolves with false if the client does not answer or read. Never
   * rejects.
   */
  isThere?(): Promise<boolean>
  /** Event stream that was started while the request was held. The response is then sent as its events. */
  readonly events?: OpenEvents | undefined
  readonly bytesOut: number
}

export type OpenEvents = {
  readonly format: EventFormat
  /** Aborts a stream that gets no response, so that the client cannot treat the stream as complete. */
  cut(): void
}

export type ReplyStream = {
  /** Returns false when the client reads slowly. Writing continues after `onDrain`. */
  write(chunk: Buffer): boolean
  onDrain(callback: () => void): void
  end(trailers?: RawHeaders): void
  /**
   * Promise that settles when all bytes are written, set by `end` while response stages still rewrite the body; else
   * null.
   */
  readonly ended?: Promise<undefined> | null
  /** Destroys the connection, so that the client cannot treat the response as complete. */
  destroy(): void
}
