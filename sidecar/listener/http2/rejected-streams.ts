import type { ServerHttp2Session } from 'node:http2'

export type RejectedStreams = {
  /** Called when Node has reported the stream, which thereby becomes a request. */
  accepted(id: number): void
  /**
   * Reports the rejected streams up to the last stream that nghttp2 received. The caller calls it after the last frame
   * of the session, before the session is destroyed.
   */
  check(): void
  /** Reports a protocol error of the session, at most once. Ignores an error that the client sent in a GOAWAY frame. */
  failed(error: Error): void
  /**
   * Called when a stream fails. The request on the stream has its own record, so its protocol error is not reported a
   * second time.
   */
  streamFailed(error: Error): void
}

/**
 * Maximum number of reports for each connection, because a client can cause any number of rejections. Node ends a
 * session after the same number of invalid frames (`maxSessionInvalidFrames`).
 */
const MAX_REPORTS = 100
const PROTOCOL_ERROR = 'ERR_HTTP2_ERROR'
/** Error code that Node emits when the client sends GOAWAY with an error. */
const SENT_BY_CLIENT = 'ERR_HTTP2_SESSION_ERROR'

/**
 * Reports streams that nghttp2 rejects before Node emits `stream` (a malformed header list, too many streams). Node has
 * no event for such streams. Clients number their streams 1, 3, 5, …, and nghttp2 exposes the last number that it
 * received. A skipped number is a stream that was reset, or rarely one that the client never sent. Each number is
 * reported once, when the next stream arrives or the connection ends. The cost is one comparison for each stream.
 */
export function createRejectedStreams(
  session: ServerHttp2Session,
  report: (detail: string) => void,
): RejectedStreams {
  let last = -1
  let left = MAX_REPORTS
  let hasProtocolError = false

  function tryReport(detail: string): void {
    if (left <= 0) return
    left -= 1
    report(detail)
  }

  function reportGap(end: number): void {
    for (let id = last + 2; id <= end && left > 0; id += 2) tryReport(rejectionText(id))
  }

  return {
    accepted(id) {
      if (id > last + 2) reportGap(id - 2)
      last = Math.max(last, id)
    },
    check() {
      const end = session.state.lastProcStreamID ?? 0
      reportGap(end)
      last = Math.max(last, end)
    },
    failed(error) {
      const code = codeOf(error)
      if (!code.startsWith('ERR_HTTP2_') || code === SENT_BY_CLIENT || hasProtocolError) return
      hasProtocolError = true
      tryReport(
        `the HTTP/2 connection was closed, because the client violated the protocol: ${error.message}`,
      )
    },
    streamFailed(error) {
      if (codeOf(error) === PROTOCOL_ERROR) hasProtocolError = true
    },
  }
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : ''
}

function rejectionText(id: number): string {
  return `stream ${id} of the HTTP/2 connection was reset, because its header list is malformed or too many streams were open.`
}
