import { refusalText } from '../refusal-text.ts'

/** Status codes of gRPC (`google.rpc.Code`). */
const CODES = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const

const BY_HTTP: Readonly<Record<number, number>> = {
  401: CODES.unauthenticated,
  403: CODES.permissionDenied,
  404: CODES.unimplemented,
  405: CODES.unimplemented,
  407: CODES.unauthenticated,
  413: CODES.resourceExhausted,
  429: CODES.resourceExhausted,
  431: CODES.resourceExhausted,
  500: CODES.internal,
  502: CODES.unavailable,
  503: CODES.unavailable,
  // A request with status 504 may have reached the upstream. DEADLINE_EXCEEDED is the only code with this meaning.
  504: CODES.deadlineExceeded,
}

/**
 * Maximum length of `grpc-message` in characters. Clients accept 8 KiB of header fields in total, and the response has
 * other fields too.
 */
const MAX_MESSAGE = 2_000

/**
 * Returns the gRPC status of a refusal as header fields of a response without a body. gRPC clients map the HTTP status
 * to a code and discard the text; from these fields they show both code and text.
 */
export function grpcRefusal(status: number, body: string): string[] {
  const code = BY_HTTP[status] ?? (status >= 500 ? CODES.internal : CODES.invalidArgument)
  return ['content-type', 'application/grpc', ...grpcStatus(code, refusalText(body))]
}

/**
 * Returns the gRPC status of a call that was aborted in progress, by a kill switch if `killReason` is not null, else by
 * an upstream failure or a timeout.
 */
export function grpcCut(killReason: string | null): string[] {
  if (killReason !== null) return grpcStatus(CODES.permissionDenied, killReason)
  const text =
    'The gateway ended this call, because the upstream failed or neither side sent data for too long. The upstream may have received the request.'
  return grpcStatus(CODES.unavailable, text)
}

function grpcStatus(code: number, message: string): string[] {
  return ['grpc-status', String(code), 'grpc-message', percentEncoded(message.slice(0, MAX_MESSAGE))]
}

/** Percent-encodes only the bytes for which gRPC requires it, because some clients decode few characters. */
function percentEncoded(text: string): string {
  let out = ''
  for (const byte of Buffer.from(text, 'utf8')) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25
    out += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return out
}
