import type { Document } from 'yaml'
import { dns1123 } from '../../core/crd/fields.ts'
import { API_VERSION } from '../../core/crd/schemas.ts'
import { nearest } from '../../core/nearest.ts'
import { unstorableIn } from '../../core/storable.ts'

/** What a document of a manifest file says of itself, as far as it can be read. */
export type ManifestHead = {
  /** `unknown`: it may be a Policy. `other`: it is none. */
  readonly kind: 'Policy' | 'unknown' | 'other'
  /** `Kind/namespace/name`; null when that cannot be read. */
  readonly key: string | null
  readonly namespace: string
  readonly name: string | null
  /** As it is written; null where it cannot be read in full. */
  readonly spec: unknown
  readonly line: number
}

export const DEFAULT_NAMESPACE = 'default'
const KINDS = ['Gateway', 'Connector', 'Permission', 'Policy', 'Secret']

/** A head of which nothing can be read. */
export function illegibleHead(line: number): ManifestHead {
  return { kind: 'unknown', key: null, namespace: DEFAULT_NAMESPACE, name: null, spec: null, line }
}

/** Reads broken documents, too. */
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

/** Null for what is no mapping. */
function legibleValue(document: Document.Parsed): Record<string, unknown> | null {
  try {
    const value: unknown = document.toJS({ maxAliasCount: 50 })
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** The kind that was meant. */
function legibleKind({ kind }: Record<string, unknown>): string | null {
  if (typeof kind !== 'string') return null
  const folded = kind.toLowerCase()
  const meant = nearest(
    folded,
    KINDS.map((each) => each.toLowerCase()),
  )
  return KINDS.find((each) => each.toLowerCase() === meant) ?? null
}

/** A kind of another API is none of ours; everything else that nobody can read may be a Policy. */
function classOf(kind: string | null, value: Record<string, unknown>): ManifestHead['kind'] {
  if (kind !== null) return kind === 'Policy' ? 'Policy' : 'other'
  const { kind: given, apiVersion } = value
  const isForeign = typeof given === 'string' && typeof apiVersion === 'string' && !isNearOurs(apiVersion)
  return isForeign ? 'other' : 'unknown'
}

function isNearOurs(apiVersion: string): boolean {
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
