import type { CanonicalRequest } from '../../request/canonical.ts'
import { decodePercent } from '../../request/percent.ts'
import { type CelNode, childrenOf, ShapeError } from '../conditions/cel-node.ts'
import { factsOf } from '../conditions/fact-shapes.ts'
import { LOGIC } from '../conditions/name-comparison.ts'
import { UNKNOWN } from './unknown-value.ts'

/** Path for conditions; `UNKNOWN` if servers could read it differently. */
export type PathFacts = {
  readonly path: string | typeof UNKNOWN
  readonly segments: readonly string[] | typeof UNKNOWN
}

/**
 * Decodes the percent escapes of a path once, so that an encoding does not evade a condition. `%25` stays encoded,
 * because a decoded percent sign would look like the start of an escape. The path is unknown if it contains an encoded
 * slash, which some servers treat as a separator; a `;`, after which some servers cut the path off; or an encoded
 * unreserved character (RFC 3986), which clients do not encode and some servers do not decode.
 */
export function pathFacts({ rawPath, segments }: CanonicalRequest): PathFacts {
  if (READ_DIFFERENTLY.test(rawPath)) return { path: UNKNOWN, segments: UNKNOWN }
  if (!rawPath.includes('%') || !rawPath.startsWith('/')) return { path: rawPath, segments }
  return { path: `/${segments.map((segment) => segment.replaceAll('%', '%25')).join('/')}`, segments }
}

/** Matches `;`, `%2F`, and percent escapes of `-`, `.`, digits, letters, `_` and `~`. */
const READ_DIFFERENTLY = /;|%(?:2[def]|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])/i

/**
 * Throws ShapeError for a literal with a percent escape if it is compared with a decoded path or target, which cannot
 * contain that escape.
 */
export function assertDecodedPaths(node: CelNode): void {
  if (LOGIC.has(node.op) || node.op === '?:') {
    for (const child of childrenOf(node.args)) assertDecodedPaths(child)
    return
  }
  const fact = factsOf(node)
    .map(({ path }) => `${path.root}.${path.keys[0]}`)
    .find((name) => AS_SENT.has(name))
  const literal = textsIn(node).find(({ args }) => ESCAPE.test(String(args)))
  if (fact === undefined || literal === undefined) return
  const text = String(literal.args)
  const written = decodedText(text)
  const why = /%2f/i.test(written)
    ? `is unknown for paths with an encoded slash, so ${JSON.stringify(text)} never matches: use`
    : `is decoded once (%25 stays), so ${JSON.stringify(text)} never matches: write ${JSON.stringify(written)}, or use`
  throw new ShapeError(`${fact} ${why} ${AS_SENT.get(fact)}, which has the spelling as sent`, literal.start)
}

/** Facts with decoded paths, each with the fact that contains the path as sent. */
const AS_SENT: ReadonlyMap<string, string> = new Map([
  ['request.path', 'request.raw_path'],
  ['request.segments', 'request.raw_path'],
  ['resource.target', 'resource.raw_target'],
])

const ESCAPE = /%(?!25)[0-9A-Fa-f]{2}/

function textsIn(node: CelNode): readonly CelNode[] {
  if (node.op === 'value') return typeof node.args === 'string' ? [node] : []
  return childrenOf(node.args).flatMap(textsIn)
}

function decodedText(text: string): string {
  const decoded = text.replaceAll(
    /(?:%(?!2f|25)[0-9a-f]{2})+/gi,
    (escapes) => decodePercent(escapes) ?? escapes,
  )
  return decoded.replaceAll('%2f', '%2F')
}
