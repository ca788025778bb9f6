import type { Action } from '../../action/action.ts'
import { isRecord } from '../fields/fields.ts'

/** Matches names of parameters that hold resource ids in the code host's REST and GraphQL APIs. */
const ID = /^(?:repository|organization)_(?:number|id)$|^ids?$|[a-z]Ids?$/
const NAME = 'repositoryNameWithOwner'
const MAX_NESTING = 4

/**
 * True for a code host action whose request does not reveal its target. A number or a node id does not identify its
 * owner, and a GraphQL field without a REST equivalent may affect any resource.
 */
export function hasUnknownTarget({ connector, type, resource, parameters }: Action): boolean {
  if (connector !== 'codehost' || resource.target !== undefined) return false
  return OPEN_FIELD.test(type) || idsIn(parameters).length > 0 || repositoriesIn(parameters).length > 0
}

const OPEN_FIELD = /^codehost\.graphql\.(?!introspect$)/

export type TargetId = { readonly name: string; readonly value: unknown }

/** Returns the resource ids among the parameters, for resources of any kind. */
export function idsIn(parameters: unknown): readonly TargetId[] {
  return membersOf(parameters, 0).filter(({ name }) => ID.test(name))
}

/** Returns the repositories that the parameters of a GraphQL field name as `owner/name`. */
export function repositoriesIn(parameters: unknown): readonly unknown[] {
  return membersOf(parameters, 0).flatMap(({ name, value }) => (name === NAME ? [value] : []))
}

function membersOf(value: unknown, depth: number): readonly TargetId[] {
  if (depth > MAX_NESTING) return []
  if (Array.isArray(value)) return value.flatMap((item) => membersOf(item, depth + 1))
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([name, item]) => [
    { name, value: item },
    ...membersOf(item, depth + 1),
  ])
}
