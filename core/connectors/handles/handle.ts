import type { Action } from '../../action/action.ts'
import type { CanonicalRequest, Refusal } from '../../request/canonical.ts'
import type { FoundMembers } from '../../request/json/member-finder.ts'

/** The id of a provider resource that a response returns: a session, a response, a file, a thread, a batch. */
export type Handle = { readonly kind: string; readonly id: string }

/** Location of a new resource's id in a response: a header field, or a path of members from the root of its JSON. */
export type GivenAt =
  | { readonly kind: string; readonly header: string }
  | { readonly kind: string; readonly path: readonly string[] }

/**
 * Rule for the handles in the requests of a Connector. `own`: the gateway refuses handles that the provider returned to
 * another agent. `strict`: the gateway also refuses handles whose agent is unknown. `shared`: the gateway checks no
 * handles.
 */
export type HandleRule = 'own' | 'shared' | 'strict'

export type HandleReader = {
  /**
   * Returns the handles in the path, headers and body of the request, each once. `found`: JSON members that a scan
   * found.
   */
  named(request: CanonicalRequest, found: readonly FoundMembers[]): readonly Handle[] | Refusal
  /** Returns the handles in JSON members that a scan found. */
  inMembers(found: FoundMembers): readonly Handle[]
  /** True for a request whose message the gateway does not read although the message may name handles. */
  isUnread(request: CanonicalRequest): boolean
  /**
   * Returns where the response to a request with these actions contains new ids; empty if it contains none. `found`:
   * JSON members of the request that a scan found.
   */
  given(actions: readonly Action[], found: readonly FoundMembers[]): readonly GivenAt[]
  /**
   * Returns the id in a found text, for example without the path of a resource name; null if the text contains no id.
   */
  read(kind: string, text: string): string | null
}

/** Maximum number of handles in one request. */
export const MAX_HANDLES = 64
/** Maximum number of handles in a request with an uploaded file, which may contain many requests. */
export const MAX_UPLOADED_HANDLES = 1_024
