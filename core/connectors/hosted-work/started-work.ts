import type { Action } from '../../action/action.ts'
import type { CanonicalRequest, RawHeaders } from '../../request/canonical.ts'
import { headerValue } from '../../request/headers/headers.ts'
import type { CancelOperation, HostedWork, WorkKind, WorkStart } from './table.ts'

/** Work that a provider performs after its response, with the data for the request that cancels the work. */
export type StartedWork = {
  readonly kind: WorkKind
  readonly ids: Readonly<Record<string, string>>
  /** Address of the request that started the work. */
  readonly at: Pick<CanonicalRequest, 'scheme' | 'host' | 'port' | 'segments' | 'rawTarget'>
  readonly headers: RawHeaders
  /** Member of a 2xx response that means a failure (see `WorkTable.errorMember`). */
  readonly errorMember: string | null
}

export type CancelRequest = {
  readonly method: string
  readonly target: string
  readonly headers: RawHeaders
  readonly body: string | undefined
}

/**
 * Maximum length of a header field that is stored for the cancelling request. Longer fields are left out. The API then
 * accepts the cancelling request, or its response states the problem.
 */
const MAX_HEADER = 1_024
/**
 * Matches ids that need no escapes in a path. Work with other ids cannot be cancelled and is not tracked, unless the
 * ids are opaque.
 */
const ID = /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,255}$/
/** Matches opaque ids, which the cancelling request contains as JSON texts only. */
const OPAQUE_ID = /^.{1,256}$/s

/**
 * Returns the work that a request with these actions starts at the provider; null if the provider does nothing after
 * its response.
 */
export function startOf(work: HostedWork, actions: readonly Action[]): WorkStart | null {
  for (const action of actions) {
    const start = work.starts.get(action.type) ?? work.startedBy?.(action) ?? null
    if (start === null) continue
    const isStarted = start.beside === null || actions.some((other) => other.type === start.beside)
    if (isStarted) return start
  }
  return null
}

/** Returns the work with its ids from the response; null if an id is missing or invalid. */
export function startedWork(
  work: HostedWork,
  { kind, ids: places }: WorkStart,
  given: { readonly request: CanonicalRequest; readonly texts: readonly (string | undefined)[] },
): StartedWork | null {
  const { scheme, host, port, segments, rawTarget, rawHeaders } = given.request
  const isOpaque = kind.cancel?.anchors.length === 0
  const ids = places.map(({ name }, at) => {
    const text = given.texts[at] ?? ''
    return [name, isOpaque ? text : lastSegment(text)] as const
  })
  if (ids.some(([, id]) => !(isOpaque ? OPAQUE_ID : ID).test(id))) return null
  const headers = work.headers.flatMap((name) => {
    const value = headerValue(rawHeaders, name)
    return value === undefined || value.length > MAX_HEADER ? [] : [name, value]
  })
  return {
    kind,
    ids: Object.fromEntries(ids),
    at: { scheme, host, port, segments, rawTarget },
    headers,
    errorMember: work.errorMember,
  }
}

/**
 * Returns the request that cancels the work; null if the provider has no operation for it, or if the path of the
 * starting request has no anchor (see `WorkTable.kinds`).
 */
export function cancelRequest({ kind, ids, at, headers }: StartedWork): CancelRequest | null {
  const { cancel } = kind
  if (cancel === null) return null
  const target = targetOf(cancel, at, ids)
  if (target === null) return null
  const body = cancel.body === undefined ? undefined : filledJson(cancel.body, ids)
  return {
    method: cancel.method,
    target,
    headers: body === undefined ? headers : [...headers, 'content-type', 'application/json'],
    body,
  }
}

function targetOf(
  { anchors, path }: CancelOperation,
  { segments, rawTarget }: StartedWork['at'],
  ids: StartedWork['ids'],
): string | null {
  if (anchors.length === 0) return rawTarget
  const anchor = segments.findIndex((segment) => anchors.includes(segment))
  if (anchor === -1) return null
  const before = segments.slice(0, anchor).map(encodeURIComponent)
  return `/${[...before, filled(path, ids)].join('/')}`
}

/** Returns the JSON of a body template, with ids in the place of `{name}` in its texts. */
function filledJson(template: object, ids: StartedWork['ids']): string {
  return JSON.stringify(template, (_key, value: unknown) =>
    typeof value === 'string' ? filled(value, ids) : value,
  )
}

/** Replaces each `{name}` in a text by the id of this name. Ids in paths need no escapes (see `ID`). */
function filled(template: string, ids: StartedWork['ids']): string {
  return template.replaceAll(/\{([a-z_]+)\}/g, (_braces, name: string) => ids[name] ?? '')
}

/** Returns the id in a resource name, such as `abc` in `batches/abc`. */
function lastSegment(text: string): string {
  return text.slice(text.lastIndexOf('/') + 1)
}
