import type { Action } from '../action/action.ts'
import { isRecord } from './fields.ts'

/** Names under which REST and GraphQL of the code host take the id of what they act upon. */
const ID = /^(?:repository|organization)_(?:number|id)$|^ids?$|[a-z]Ids?$/
const MAX_NESTING = 4

/** True for an action of the code host whose target is an id: a number or a node id does not say whose it is. */
export function hasTargetById({ connector, resource, parameters }: Action): boolean {
  return connector === 'codehost' && resource.target === undefined && holdsId(parameters, 0)
}

function holdsId(value: unknown, depth: number): boolean {
  if (Array.isArray(value)) return depth < MAX_NESTING && value.some((item) => holdsId(item, depth + 1))
  if (!isRecord(value)) return false
  return Object.entries(value).some(
    ([name, item]) => ID.test(name) || (depth < MAX_NESTING && holdsId(item, depth + 1)),
  )
}
