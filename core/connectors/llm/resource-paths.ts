import type { CanonicalRequest, Refusal } from '../../request/canonical.ts'
import { refusal } from '../../request/canonical.ts'
import { looseName } from '../../request/headers/repeated-names.ts'
import { decodedFully } from '../../request/percent.ts'
import type { Row } from '../connector.ts'
import type { RowAlias } from '../rows/row-trie.ts'
import type { PathSegments } from '../rows/rows.ts'

/**
 * Custom verbs (AIP-136) by their lower-case text; a path may end in a verb: `/v1beta/models/{model}:generateContent`.
 * Rows and paths carry the verb as a separate segment, so that `models/{model}` and its verbs match different rows.
 */
export type CustomVerbs = ReadonlyMap<string, string>

const SERVICES = [
  'CacheService',
  'DiscussService',
  'FileService',
  'GenerativeService',
  'ModelService',
  'PermissionService',
  'PredictionService',
  'RetrieverService',
  'TextService',
]

/**
 * Aliases that apply the rows of `v1beta` to every version of the API. Operations that exist only in `v1beta` are
 * covered too.
 */
export const VERSION_ALIASES: readonly RowAlias[] = ['v1', 'v1alpha', 'v1beta', 'v1beta2', 'v1beta3'].flatMap(
  (version) => [
    ...(version === 'v1beta' ? [] : aliasesOf(version)),
    { from: '/upload/v1beta', to: `/resumable/upload/${version}` },
    ...SERVICES.map((name) => ({ from: serviceOf('v1beta', name), to: `/$rpc${serviceOf(version, name)}` })),
  ],
)

function aliasesOf(version: string): readonly RowAlias[] {
  return [
    { from: '/v1beta', to: `/${version}` },
    { from: '/upload/v1beta', to: `/upload/${version}` },
    ...SERVICES.map((name) => ({ from: serviceOf('v1beta', name), to: serviceOf(version, name) })),
  ]
}

function serviceOf(version: string, name: string): string {
  return `/google.ai.generativelanguage.${version}.${name}`
}

const VERB = /:([A-Za-z]+)$/

/** Returns the custom verbs of the row templates, by their lower-case text. */
export function verbsOf(rows: readonly Row[]): CustomVerbs {
  return new Map(
    rows.flatMap(({ template }) => {
      const [, verb] = VERB.exec(template) ?? []
      return verb === undefined ? [] : [[verb.toLowerCase(), verb] as const]
    }),
  )
}

export function withVerbSegments(rows: readonly Row[]): readonly Row[] {
  return rows.map((row) => ({ ...row, template: row.template.replace(VERB, '/:$1') }))
}

/**
 * Joins the separate verb segment of a target to the segment before it. The target was built from a row, and colons in
 * its parameters are encoded.
 */
export function joinVerb(target: string): string {
  return target.replace('/:', ':')
}

export function splitVerb(path: PathSegments, verbs: CustomVerbs): PathSegments {
  const segment = path.segments.at(-1) ?? ''
  const raw = path.rawSegments.at(-1) ?? ''
  const [colon, rawColon] = [segment.lastIndexOf(':'), raw.lastIndexOf(':')]
  if (colon === -1 || rawColon === -1 || knownVerb(segment.slice(colon + 1), verbs) === undefined) return path
  return {
    segments: [...path.segments.slice(0, -1), segment.slice(0, colon), segment.slice(colon)],
    rawSegments: [...path.rawSegments.slice(0, -1), raw.slice(0, rawColon), raw.slice(rawColon)],
  }
}

/**
 * Refuses a path in which servers may disagree about the verb. Such a path has a verb in a segment other than the last,
 * after a second colon, after an encoded colon, without a resource before it, or in another spelling. Also refuses a
 * query parameter that replaces the method or headers.
 */
export function judgeVerbs(request: CanonicalRequest, verbs: CustomVerbs): Refusal | null {
  const { segments, rawSegments, query } = request
  const last = segments.length - 1
  const isPlain = segments.every(
    (segment, at) =>
      !/[:%]/.test(segment) ||
      isPlainSegment(segment, { raw: rawSegments[at] ?? '', isLast: at === last, verbs }),
  )
  if (!isPlain)
    return refusal(
      'ambiguous_request',
      'servers differ in how they read the verb at the end of the path; send the path as /RESOURCE:VERB, with one colon that is not encoded',
    )
  const replaced = query.find(([name]) => looseName(name).startsWith('$http'))
  if (replaced === undefined) return null
  return refusal(
    'ambiguous_request',
    `the query parameter ${replaced[0].slice(0, 64)} would replace the method or headers of the request; remove it`,
  )
}

type Place = { readonly raw: string; readonly isLast: boolean; readonly verbs: CustomVerbs }

function isPlainSegment(segment: string, { raw, isLast, verbs }: Place): boolean {
  const [resource, ...pieces] = decodedFully(segment).split(':')
  const found = pieces.filter((piece) => knownVerb(piece, verbs) !== undefined)
  if (found.length === 0) return true
  const isAlone = resource !== '' && pieces.length === 1 && raw.split(':').length === 2
  const verb = segment.slice(segment.indexOf(':') + 1)
  return isLast && isAlone && knownVerb(verb, verbs) === verb
}

/** Returns the custom verb (AIP-136) at the beginning of a text, in any case and after white space. */
function knownVerb(text: string, verbs: CustomVerbs): string | undefined {
  const [, word = ''] = /^\s*([A-Za-z]+)/.exec(text) ?? []
  return verbs.get(word.toLowerCase())
}
