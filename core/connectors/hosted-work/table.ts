import type { Action } from '../../action/action.ts'

/** Work that one provider continues after its response, as text tables. */
export type WorkTable = {
  readonly connector: string
  /**
   * One line per kind of work: kind, method, anchor, path. The path of the cancelling request begins like the path of
   * the starting request, without the anchor segment (`a|b`: either of two) and all segments after it; then `path`
   * follows. In `path`, `{name}` stands for the id that `starts` calls `name`. For example, with anchor `batches` and
   * path `batches/{id}/cancel`, `/v1/batches` gives `/v1/batches/b_1/cancel`. A line with `-` instead of method, anchor
   * and path means: the provider documents no operation that cancels the work without deleting its data.
   */
  readonly kinds: string
  /**
   * One line per starting operation: operation, kind, further action that the request must have (`-`: none), and the
   * place of each id. A place is a path in the response (`id=response.id`), the end of a header field of the response
   * (`id=header:location`), or the segment after a named segment in the path of the request (`id=segment:calls`).
   */
  readonly starts: string
  /**
   * One line per operation whose response shows the end of the work: operation, kind, and the values of `status` in the
   * response that mean the end (`a,b`). Without values, any 2xx response means the end.
   */
  readonly ends: string
  /** Kinds of work that are batches. A kill switch cancels batches only with `killSwitch.cancelBatches`. */
  readonly batches?: readonly string[]
  /** JSON bodies of cancelling requests by kind. `{name}` stands for an id, as in `kinds`. */
  readonly bodies?: Readonly<Record<string, object>>
  /**
   * Header fields that the cancelling request copies from the starting request, because the API requires them or they
   * select the account.
   */
  readonly headers?: readonly string[]
  /** Path, such as `error.message`, of a member of a JSON response that means a failure although the status is 2xx. */
  readonly errorMember?: string
}

/**
 * Without `anchors`, the cancelling request has the target of the starting request, query included, and contains the
 * ids in its body only. Such ids are opaque: every character is allowed.
 */
export type CancelOperation = {
  readonly method: string
  readonly anchors: readonly string[]
  readonly path: string
  readonly body?: object
}

export type WorkKind = {
  readonly kind: string
  /** Operation that cancels this kind of work; null if the provider has none. */
  readonly cancel: CancelOperation | null
  readonly isBatch: boolean
}

export type WorkStart = {
  readonly kind: WorkKind
  /** Type of a further action that the request must have to start the work; null if none is required. */
  readonly beside: string | null
  readonly ids: ReadonlyArray<{ readonly name: string; readonly at: IdPlace }>
}

export type IdPlace =
  | { readonly kind: 'member'; readonly path: readonly string[] }
  | { readonly kind: 'header' | 'segment'; readonly name: string }

export type WorkEnd = {
  readonly kind: string
  /** States of the work in the response that mean the end; null if the response has no state. */
  readonly states: readonly string[] | null
  /** Member that the response must have, apart from a state. Without it and `states`, any 2xx response means the end. */
  readonly member?: readonly string[]
}

export type HostedWork = {
  /** Operations that start work, by action type. */
  readonly starts: ReadonlyMap<string, WorkStart>
  /** Returns the work that an action starts, for actions that `starts` does not list. */
  readonly startedBy?: (action: Action) => WorkStart | null
  readonly ends: ReadonlyMap<string, WorkEnd>
  /** Path of the response member with the state of the work. Default: `status`. */
  readonly statusPath?: readonly string[]
  /** True (the default) if the work ends with the stream of events in which it started. */
  readonly endsWithStream?: boolean
  readonly headers: readonly string[]
  readonly errorMember: string | null
}

export function compileWork(table: WorkTable): HostedWork {
  const { connector, batches = [], bodies = {}, headers = [], errorMember = null } = table
  const kinds = new Map(
    linesOf(table.kinds).map(([kind = '', method = '-', anchors = '', path = '']) => {
      const body = bodies[kind]
      const operation = { method, anchors: anchors.split('|'), path, ...(body === undefined ? {} : { body }) }
      return [kind, { kind, cancel: method === '-' ? null : operation, isBatch: batches.includes(kind) }]
    }),
  )
  const starts = linesOf(table.starts).flatMap(([name = '', kind = '', beside = '-', ...ids]) => {
    const known = kinds.get(kind)
    const places = ids.map((id) => {
      const [key = '', place = ''] = id.split('=')
      return { name: key, at: readPlace(place) }
    })
    const other = beside === '-' ? null : `${connector}.${beside}`
    return known === undefined
      ? []
      : [[`${connector}.${name}`, { kind: known, beside: other, ids: places }] as const]
  })
  const ends = linesOf(table.ends).map(
    ([name = '', kind = '', states]) =>
      [`${connector}.${name}`, { kind, states: states?.split(',') ?? null }] as const,
  )
  return { starts: new Map(starts), ends: new Map(ends), headers, errorMember }
}

function readPlace(text: string): IdPlace {
  const [kind = '', name = ''] = text.split(':')
  if (kind === 'header' || kind === 'segment') return { kind, name }
  return { kind: 'member', path: text.split('.') }
}

function linesOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(/\s+/))
}
