import type { MemberPath } from '../../../core/connectors/connector.ts'
import { maskMembers } from '../../../core/connectors/fields/json-members.ts'
import { parseBody } from '../../../core/request/body/body.ts'
import { boundaryOf, readParts } from '../../../core/request/body/multipart.ts'
import { isRefusal, type RawHeaders } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import { sha256Hex } from '../../../runtime/sha256.ts'
import { bodyHash } from '../body/body-hash.ts'
import type { Parsed } from '../phases.ts'

/**
 * Part of a body to which an approval is bound. `hash` is null when no body was read. `withType` returns the headers
 * with the bound part of Content-Type.
 */
export type BoundBody = {
  readonly hash: string | null
  withType(headers: RawHeaders): RawHeaders
}

/** Text in place of the hash for a body whose end has not arrived. */
const OPEN_ENDED = 'open'

/**
 * Returns the part of the body to which an approval is bound. All bytes are bound, with two exceptions. The parts of a
 * plain multipart form are bound separately, because an SDK generates a new boundary for each attempt. JSON members
 * that count attempts are not bound (`unboundMembers`).
 */
export function boundBody(exchange: Parsed, unboundMembers: readonly MemberPath[] = []): BoundBody {
  const { bodyBytes, isOpenEnded } = exchange
  if (isOpenEnded === true) return whole(OPEN_ENDED)
  if (bodyBytes === undefined) return whole(null)
  const masked = unboundMembers.length === 0 ? null : maskedJson(exchange, bodyBytes, unboundMembers)
  if (masked !== null) return whole(`json ${sha256Hex(masked)}`)
  const parts = hashParts(exchange, bodyBytes)
  return parts === null ? whole(bodyHash(bodyBytes)) : { hash: parts, withType: withoutBoundary }
}

function whole(hash: string | null): BoundBody {
  return { hash, withType: (headers) => headers }
}

/**
 * Returns the body without these JSON members. Returns null when the body has none of them, or when servers could read
 * the members differently.
 */
function maskedJson({ request }: Parsed, bytes: Buffer, members: readonly MemberPath[]): string | null {
  const keys = members.map((path) => path.join('.'))
  if (parseBody(bytes, request.body, keys).kind !== 'json') return null
  const text = bytes.toString('utf8')
  const masked = maskMembers(text, members)
  return masked === text ? null : masked
}

/**
 * Matches boundaries as clients generate them. Parsers disagree about other boundaries, so an approval is bound to
 * every byte of bodies with such boundaries.
 */
const PLAIN_BOUNDARY = /^[0-9A-Za-z_-]+$/

function hashParts({ raw, request }: Parsed, bytes: Buffer): string | null {
  if (request.body.mediaType !== 'multipart/form-data' || request.body.encoding !== undefined) return null
  const boundary = boundaryOf(headerValue(raw.rawHeaders, 'content-type') ?? '')
  if (isRefusal(boundary) || !PLAIN_BOUNDARY.test(boundary)) return null
  const parts = readParts(bytes, boundary)
  if (isRefusal(parts)) return null
  return `parts ${parts.map(({ start, end }) => sha256Hex(bytes.subarray(start, end))).join(' ')}`
}

function withoutBoundary(headers: RawHeaders): RawHeaders {
  return headers.map((text, at) =>
    at % 2 === 1 && headers[at - 1]?.toLowerCase() === 'content-type' ? 'multipart/form-data' : text,
  )
}
