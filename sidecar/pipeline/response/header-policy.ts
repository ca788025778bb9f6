import type { RawHeaders } from '../../../core/request/canonical.ts'
import { connectionTokens, HOP_BY_HOP } from '../../http/hop-by-hop.ts'
import type { ResponseStage } from './response-stage.ts'

/**
 * Response headers that are not forwarded. Alt-Svc would lead the agent to another host or to QUIC, which are not
 * governed.
 */
const ANSWER_ONLY: ReadonlySet<string> = new Set([...HOP_BY_HOP, 'alt-svc'])
const ANSWER_LENGTHS: ReadonlySet<number> = new Set([...ANSWER_ONLY].map((name) => name.length))

/** Removes the fields that the gateway does not forward. Every response passes this stage. */
export const HEADER_POLICY: ResponseStage = { fields: inboundHeaders }

/** Returns the end-to-end headers of the response, without framing headers. */
export function inboundHeaders(raw: RawHeaders): string[] {
  const named = connectionTokens(raw)
  const out: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? ''
    if (endsHere(name) || named?.has(name.toLowerCase()) === true) continue
    out.push(name, raw[at + 1] ?? '')
  }
  return out
}

/**
 * Returns true when the gateway does not forward the header. A comparison of lengths excludes most names without a
 * comparison of text.
 */
function endsHere(name: string): boolean {
  return (ANSWER_LENGTHS.has(name.length) && ANSWER_ONLY.has(name.toLowerCase())) || OURS.test(name)
}

/**
 * Matches headers of the gateway's own responses. Agents and tests read from these headers which component refused a
 * request, so an upstream must not set them.
 */
const OURS = /^x[-_]service[-_]/i
