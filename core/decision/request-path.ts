import type { CanonicalRequest } from '../request/canonical.ts'
import { decodePercent } from '../request/percent.ts'
import { type CelNode, childrenOf, ShapeError } from './cel-node.ts'
import { factsOf } from './fact-shapes.ts'
import { LOGIC } from './name-meeting.ts'

/**
 * The path with its percent escapes decoded once, so that no encoded spelling evades a condition. `%2F` and `%25` stay:
 * a decoded slash would look like a border of segments, a decoded percent sign like the begin of an escape.
 */
export function decodedPath({ rawPath, segments }: CanonicalRequest): string {
  if (!rawPath.includes('%') || !rawPath.startsWith('/')) return rawPath
  return `/${segments.map((segment) => segment.replaceAll('%', '%25').replaceAll('/', '%2F')).join('/')}`
}

/** Throws ShapeError for a literal that holds an escape which the decoded path or target beside it cannot hold. */
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
  throw new ShapeError(
    `${fact} is decoded once (%2F and %25 stay), so ${JSON.stringify(text)} never matches: write ${JSON.stringify(decodedText(text))}, or use ${AS_SENT.get(fact)}, which has the spelling as sent`,
    literal.start,
  )
}

/** Facts with decoded paths, and the fact that has the same as sent. */
const AS_SENT: ReadonlyMap<string, string> = new Map([
  ['request.path', 'request.raw_path'],
  ['resource.target', 'resource.raw_target'],
])

const ESCAPE = /%(?!2F|25)[0-9A-Fa-f]{2}/

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
