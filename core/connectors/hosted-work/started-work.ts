import type { Action } from '../../action/action.ts'
import type { CanonicalRequest, RawHeaders } from '../../request/canonical.ts'
import { headerValue } from '../../request/headers.ts'
import type { HostedWork, WorkKind, WorkStart } from './table.ts'

/** Work that a provider has begun, with what a request needs that cancels it. */
export type StartedWork = {
  readonly kind: WorkKind
  readonly ids: Readonly<Record<string, string>>
  /** Of the request that started it. */
  readonly at: Pick<CanonicalRequest, 'scheme' | 'host' | 'port' | 'segments'>
  readonly headers: RawHeaders
  /** See `WorkTable`. */
  readonly errorMember: string | null
}

export type CancelRequest = {
  readonly method: string
  readonly target: string
  readonly headers: RawHeaders
  readonly body: string | undefined
}

/** Longer fields are not kept: the API takes a cancelling request without them, or the answer says why not. */
const MAX_HEADER = 1_024
/** Of an id, in a path and in JSON. Ids in other forms are not kept. */
const ID = /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,255}$/

/** What a request with these actions starts at the provider; null where its answer is the end of it. */
export function startOf(work: HostedWork, actions: readonly Action[]): WorkStart | null {
  for (const { type } of actions) {
    const start = work.starts.get(type)
    if (start === undefined) continue
    const isStarted = start.beside === null || actions.some((other) => other.type === start.beside)
    if (isStarted) return start
  }
  return null
}

/** Null where an id is missing, or has a form that no path can hold. */
export function startedWork(
  work: HostedWork,
  { kind, ids: places }: WorkStart,
  given: { readonly request: CanonicalRequest; readonly texts: readonly (string | undefined)[] },
): StartedWork | null {
  const { scheme, host, port, segments, rawHeaders } = given.request
  const ids = places.map(({ name }, at) => [name, lastSegment(given.texts[at] ?? '')] as const)
  if (ids.some(([, id]) => !ID.test(id))) return null
  const headers = work.headers.flatMap((name) => {
    const value = headerValue(rawHeaders, name)
    return value === undefined || value.length > MAX_HEADER ? [] : [name, value]
  })
  return {
    kind,
    ids: Object.fromEntries(ids),
    at: { scheme, host, port, segments },
    headers,
    errorMember: work.errorMember,
  }
}

/** The request that cancels it; null where no operation does. */
export function cancelRequest({ kind, ids, at, headers }: StartedWork): CancelRequest | null {
  const { cancel } = kind
  if (cancel === null) return null
  const anchor = at.segments.findIndex((segment) => cancel.anchors.includes(segment))
  if (anchor === -1) return null
  const before = at.segments.slice(0, anchor).map(encodeURIComponent)
  const body = cancel.body === undefined ? undefined : filled(JSON.stringify(cancel.body), ids)
  return {
    method: cancel.method,
    target: `/${[...before, filled(cancel.path, ids)].join('/')}`,
    headers: body === undefined ? headers : [...headers, 'content-type', 'application/json'],
    body,
  }
}

/** Ids need no escapes, in a path or in JSON. */
function filled(template: string, ids: StartedWork['ids']): string {
  return template.replaceAll(/\{([a-z_]+)\}/g, (_braces, name: string) => ids[name] ?? '')
}

/** Of a resource name (`batches/abc`). */
function lastSegment(text: string): string {
  return text.slice(text.lastIndexOf('/') + 1)
}
