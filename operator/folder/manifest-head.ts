import type { Document } from 'yaml'
import { dns1123 } from '../../core/crd/fields.ts'
import { API_VERSION } from '../../core/crd/schemas.ts'
import { nearest } from '../../core/nearest.ts'
import { unstorableIn } from '../../core/storable.ts'

/** The kind, name and place of a document, as far as they are legible. The document may be broken. */
export type ManifestHead = {
  /** `unknown`: the document may be a Policy. `other`: the document is not a Policy. */
  readonly kind: 'Policy' | 'unknown' | 'other'
  /** `Kind/namespace/name`; null when a part is illegible. */
  readonly key: string | null
  readonly namespace: string
  readonly name: string | null
  /** `spec` of the document; null unless the whole document is legible. */
  readonly spec: unknown
  readonly line: number
}

export const DEFAULT_NAMESPACE = 'default'
const KINDS = ['Gateway', 'Connector', 'Permission', 'Policy', 'Secret']

/** Returns the head for a document that cannot be parsed. Only the line is known. */
export function illegibleHead(line: number): ManifestHead {
  return { kind: 'unknown', key: null, namespace: DEFAULT_NAMESPACE, name: null, spec: null, line }
}

/** Reads the head of a document, also of one with YAML errors. */
export function headOf(document: Document.Parsed, line: number): ManifestHead {
  const value = legibleValue(document)
  if (value === null) return illegibleHead(line)
  const kind = legibleKind(value)
  const metadata = objectOr(value['metadata'])
  const name = dnsName(metadata['name'])
  const namespace = dnsName(metadata['namespace']) ?? DEFAULT_NAMESPACE
  const key = kind === null || name === null ? null : `${kind}/${namespace}/${name}`
  const isWhole = document.errors.length === 0 && unstorableIn(value) === null
  return { kind: classOf(kind, value), key, namespace, name, spec: isWhole ? value['spec'] : null, line }
}

/** Returns the content of a document; null unless it is a mapping. */
function legibleValue(document: Document.Parsed): Record<string, unknown> | null {
  try {
    const value: unknown = document.toJS({ maxAliasCount: 50 })
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** Returns the known kind that is nearest to the written one, without regard to case. */
function legibleKind({ kind }: Record<string, unknown>): string | null {
  if (typeof kind !== 'string') return null
  const folded = kind.toLowerCase()
  const suggestion = nearest(
    folded,
    KINDS.map((each) => each.toLowerCase()),
  )
  return KINDS.find((each) => each.toLowerCase() === suggestion) ?? null
}

/**
 * Classifies a document as a Policy, another kind, or unknown. A document of another API group is not a Policy. Any
 * other document with an illegible kind may be a Policy, and is unknown.
 */
function classOf(kind: string | null, value: Record<string, unknown>): ManifestHead['kind'] {
  if (kind !== null) return kind === 'Policy' ? 'Policy' : 'other'
  const { kind: given, apiVersion } = value
  const isForeign = typeof given === 'string' && typeof apiVersion === 'string' && !isNearOwnApi(apiVersion)
  return isForeign ? 'other' : 'unknown'
}

function isNearOwnApi(apiVersion: string): boolean {
  return nearest(apiVersion, [API_VERSION]) !== undefined
}

function dnsName(value: unknown): string | null {
  return dns1123.safeParse(value).success ? String(value) : null
}

function objectOr(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
