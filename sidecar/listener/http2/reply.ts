import type { ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { RawHeaders } from '../../../core/request/canonical.ts'
import { answersPing } from '../../http/http2-ping.ts'
import type { AfterRecord } from '../../pipeline/ports.ts'
import type { Reply, ReplyStream } from '../../pipeline/reply.ts'
import { isSafeField } from '../http1/reply-head.ts'
import { grpcCut, grpcRefusal } from './grpc-status.ts'

/** Hop-by-hop fields of HTTP/1.1, which HTTP/2 forbids (RFC 9113, section 8.2.2). */
const HOP_FIELDS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/** Time in milliseconds that a client has to answer a ping during a silent call. */
const THERE_MS = 5_000

/** Headers that describe the body, removed from a response without one. */
const BODY_FIELDS = new Set(['content-type', 'content-length'])

export type Http2ReplyOptions = {
  readonly isHead: boolean
  readonly acceptsTrailers: boolean
  /**
   * Set for gRPC calls; null for other requests. `killReason` returns the reason of the kill switch that aborted the
   * call, as the agent may see it; null when no kill switch aborted the call.
   */
  readonly grpc: { readonly killReason: () => string | null } | null
  /** Called once, when the response is complete or aborted. */
  readonly onEnded: () => void
}

export class Http2Reply implements Reply, ReplyStream {
  isStarted = false
  isEnded = false
  bytesOut = 0
  readonly #stream: ServerHttp2Stream
  readonly #options: Http2ReplyOptions
  #hasBody = false
  /** Number of declared body bytes that are not written yet; null without a Content-Length. */
  #left: number | null = null
  #trailers: RawHeaders = []
  #onDrain: (() => void) | null = null

  constructor(stream: ServerHttp2Stream, options: Http2ReplyOptions) {
    this.#stream = stream
    this.#options = options
    stream.on('drain', () => this.#onDrain?.())
    stream.on('wantTrailers', () => this.#sendTrailers())
  }

  send(status: number, headers: RawHeaders, body: Buffer | string, afterRecord: AfterRecord = atOnce): void {
    if (this.#options.grpc !== null) {
      this.#begin(status, false)
      afterRecord(() => this.#refuseCall(status, headers, String(body)))
      return
    }
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    this.#begin(status, bytes.length > 0)
    if (this.#hasBody) this.bytesOut = bytes.length
    afterRecord(() => this.#sendWhole(status, headers, bytes))
  }

  #sendWhole(status: number, headers: RawHeaders, bytes: Buffer): void {
    if (this.isEnded) return
    const withoutLength = fieldsFor(status, headers).filter(
      (_, i, all) => all[i - (i % 2)] !== 'content-length',
    )
    this.#respond([...withoutLength, 'content-length', String(bytes.length)], status)
    if (this.#hasBody && !this.#isGone) this.#stream.write(bytes)
    this.end()
  }

  stream(status: number, headers: RawHeaders, hasBody: boolean): ReplyStream {
    const fields = fieldsFor(status, headers)
    this.#begin(status, hasBody)
    this.#respond(fields, status)
    const at = this.#hasBody ? fields.indexOf('content-length') : -1
    this.#left = at === -1 ? null : Number(fields[at + 1])
    return this
  }

  interim(status: number, headers: RawHeaders): void {
    if (this.isStarted || this.#isGone) return
    this.#stream.additionalHeaders({ ...asObject(headers), ':status': status })
  }

  upgrade(): Duplex {
    throw new Error('an HTTP/2 stream does not support upgrades')
  }

  async isThere(): Promise<boolean> {
    const { session, writableLength } = this.#stream
    return session !== undefined && writableLength === 0 && (await answersPing(session, THERE_MS))
  }

  write(chunk: Buffer): boolean {
    if (this.isEnded || !this.#hasBody || this.#isGone || chunk.length === 0) return true
    this.bytesOut += chunk.length
    if (this.#left !== null) this.#left -= chunk.length
    if (this.#left !== null && this.#left < 0) {
      this.destroy()
      return true
    }
    return this.#stream.write(chunk)
  }

  onDrain(callback: () => void): void {
    this.#onDrain = callback
    if (!this.#stream.writableNeedDrain) process.nextTick(callback)
  }

  end(trailers: RawHeaders = []): void {
    if (this.isEnded) return
    if (this.#left !== null && this.#left > 0) {
      this.destroy()
      return
    }
    this.#trailers = trailers
    this.isEnded = true
    if (!this.#isGone && !this.#stream.writableEnded) this.#stream.end()
    this.#options.onEnded()
  }

  destroy(): void {
    if (this.isEnded) return
    if (this.#canTellWhy()) {
      this.#left = null
      this.end(grpcCut(this.#options.grpc?.killReason() ?? null))
      return
    }
    this.isEnded = true
    // `close` would end the body normally, and the client could treat the response as complete.
    this.#stream.destroy(new Error('the response was aborted'))
    this.#options.onEnded()
  }

  /**
   * Returns true when a gRPC status can still be sent. The status is a trailer after the body, so body bytes that the
   * client does not read would delay the status.
   */
  #canTellWhy(): boolean {
    const isWaited = this.#hasBody && this.#options.acceptsTrailers && this.#stream.writableLength === 0
    return this.#options.grpc !== null && isWaited && !this.#isGone
  }

  #refuseCall(status: number, headers: RawHeaders, body: string): void {
    if (this.isEnded) return
    const fields = fieldsFor(status, headers).filter((_, i, all) => !BODY_FIELDS.has(all[i - (i % 2)] ?? ''))
    this.#respond([...fields, ...grpcRefusal(status, body)], status)
    this.end()
  }

  get #isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed
  }

  #begin(status: number, hasBody: boolean): void {
    if (this.isStarted) throw new Error('the request was already answered')
    this.isStarted = true
    this.#hasBody = hasBody && !this.#options.isHead && status !== 204 && status !== 304
  }

  #respond(fields: string[], status: number): void {
    if (this.#isGone) return
    // Waiting for trailers costs one turn of the event loop for each reply, so it is limited to clients that accept
    // trailers.
    const waitForTrailers = this.#hasBody && this.#options.acceptsTrailers
    const options = { endStream: !this.#hasBody, waitForTrailers, sendDate: false }
    this.#stream.respond([':status', String(status), ...fields], options)
  }

  #sendTrailers(): void {
    if (this.#trailers.length > 0) this.#stream.sendTrailers(asObject(this.#trailers))
    else this.#stream.close()
  }
}

function atOnce(send: () => void): void {
  send()
}

/** Returns the headers in lower case without hop-by-hop fields, and without Content-Length for 204. */
function fieldsFor(status: number, headers: RawHeaders): string[] {
  const out: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = (headers[i] ?? '').toLowerCase()
    const value = headers[i + 1] ?? ''
    if (HOP_FIELDS.has(name) || (status === 204 && name === 'content-length')) continue
    if (isSafeField(name, value)) out.push(name, value)
  }
  return out
}

function asObject(headers: RawHeaders): Record<string, string[]> {
  const out: Record<string, string[]> = {}
  const fields = fieldsFor(200, headers)
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] ?? ''
    out[name] = [...(out[name] ?? []), fields[i + 1] ?? '']
  }
  return out
}
