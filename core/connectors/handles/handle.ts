import type { Action } from '../../action/action.ts'
import type { CanonicalRequest, Refusal } from '../../request/canonical.ts'
import type { FoundMembers } from '../../request/json/member-finder.ts'

/** The id of a thing at the provider that its answer gave: a session, a response, a file, a thread, a batch. */
export type Handle = { readonly kind: string; readonly id: string }

/** Where an answer holds the id of what was made: in a field of its head, or at a path of members from the root of its JSON. */
export type GivenAt =
  | { readonly kind: string; readonly header: string }
  | { readonly kind: string; readonly path: readonly string[] }

/** `own`: those given to another agent are refused. `strict`: unknown ones, too. `shared`: none is looked at. */
export type HandleRule = 'own' | 'shared' | 'strict'

export type HandleReader = {
  /** What the request names in its path, its headers and its body, each once. `found`: see `FindRules`. */
  named(request: CanonicalRequest, found: readonly FoundMembers[]): readonly Handle[] | Refusal
  /** Where the answer to a request with these actions holds an id; empty where it gives none. */
  given(actions: readonly Action[]): readonly GivenAt[]
  /** The id in a text of the answer; null where it is none. */
  read(kind: string, text: string): string | null
}

/** Handles in one request. */
export const MAX_HANDLES = 64
