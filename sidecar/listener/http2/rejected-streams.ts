import type { ServerHttp2Session } from 'node:http2'

export type UnbornWatch = {
  /** A stream has become a request. */
  born(id: number): void
  /** To be called while the session still lives, when nothing more will come. */
  look(): void
  /** The session has failed. Told twice it is reported once, and not at all when it is the client's own wish. */
  failed(error: Error): void
  /** A stream has failed; the request on it has a record of its own. */
  streamFailed(error: Error): void
}

/** So that a client cannot write records by counting: the library ends a session after as many malformed frames. */
const MAX_REPORTS = 100
const PROTOCOL_ERROR = 'ERR_HTTP2_ERROR'
/** A GOAWAY of the client that names an error. */
const SAID_BY_CLIENT = 'ERR_HTTP2_SESSION_ERROR'

/**
 * Streams that the HTTP/2 library resets before anybody here hears of them (a malformed header list, too many at once).
 * It has no event for that. But clients number their streams 1, 3, 5, …, and the library says which number it saw last:
 * a number that was passed over was reset, or was given up by a client that had not sent it yet, which few do. Each is
 * reported once, when the next stream comes or the connection ends. It costs a comparison for each stream.
 */
export function createUnbornWatch(
  session: ServerHttp2Session,
  report: (detail: string) => void,
): UnbornWatch {
  let last = -1
  let left = MAX_REPORTS
  let isBlamed = false

  function tell(detail: string): void {
    if (left <= 0) return
    left -= 1
    report(detail)
  }

  function passOver(end: number): void {
    for (let id = last + 2; id <= end && left > 0; id += 2) tell(unborn(id))
  }

  return {
    born(id) {
      if (id > last + 2) passOver(id - 2)
      last = Math.max(last, id)
    },
    look() {
      const end = session.state.lastProcStreamID ?? 0
      passOver(end)
      last = Math.max(last, end)
    },
    failed(error) {
      const code = codeOf(error)
      if (!code.startsWith('ERR_HTTP2_') || code === SAID_BY_CLIENT || isBlamed) return
      isBlamed = true
      tell(`the HTTP/2 connection broke the protocol and was closed: ${error.message}`)
    },
    streamFailed(error) {
      if (codeOf(error) === PROTOCOL_ERROR) isBlamed = true
    },
  }
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : ''
}

function unborn(id: number): string {
  return `stream ${id} of the HTTP/2 connection never became a request: its header list is malformed, or too many streams were open. It was reset.`
}
