import { exceedsJsonBounds } from '../../request/json/json-size.ts'
import type { Sliced } from '../../sliced.ts'
import { isRecord } from '../fields/fields.ts'

/** Reports whether the policies let the agent call a tool of this name, with or without an approval. */
export type MayCall = (toolName: string) => boolean

/**
 * Result of filtering one message. `text`: the unchanged message, or the message with a shorter list. `hidden`: the
 * names of the removed tools.
 */
export type FilteredMessage = { readonly text: string; readonly hidden: readonly string[] }

/** Bounds of the filter of tool lists. Responses and events beyond these bounds pass unchanged. */
export const TOOL_LIST_BOUNDS = { chars: 256 * 1024, tools: 1_000, nodes: 20_000, commas: 20_000 } as const
/** Number of tool names that are decided between two yields. */
export const NAMES_PER_SLICE = 32

/**
 * Removes the tools that the agent may not call from a response to `tools/list`, so that they do not reach a model.
 * `ids`: the ids of the agent's requests (as JSON). Everything else, a response beyond `TOOL_LIST_BOUNDS`, and a
 * response without hidden tools are returned byte for byte. The filter is no protection, because each call is decided
 * separately. Yields after parsing and after each `NAMES_PER_SLICE` names.
 */
export function* filterToolList(
  text: string,
  ids: ReadonlySet<string>,
  mayCall: MayCall,
): Sliced<FilteredMessage> {
  const { chars, tools, ...bounds } = TOOL_LIST_BOUNDS
  const unchanged = { text, hidden: [] }
  if (text.length > chars || exceedsJsonBounds(text, bounds)) return unchanged
  const value = parse(text)
  const messages = Array.isArray(value) ? value : [value]
  const lists = messages.flatMap((message) => listsIn(message, ids))
  if (lists.length === 0 || lists.flat().length > tools) return unchanged
  yield
  const hidden = yield* hiddenTools(lists.flat(), mayCall)
  if (hidden.size === 0) return unchanged
  const kept = messages.map((message) => withoutTools(message, ids, hidden))
  return {
    text: JSON.stringify(Array.isArray(value) ? kept : kept[0]),
    hidden: [...hidden].flatMap((tool) => nameOf(tool) ?? []),
  }
}

/** Returns the ids (as JSON) of the `tools/list` requests in the agent's body. */
export function toolListIds(body: unknown): ReadonlySet<string> {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
  const requests = messages.filter((message) => isRecord(message) && message['method'] === 'tools/list')
  return new Set(
    requests.flatMap((message) =>
      isRecord(message) && message['id'] !== undefined ? [JSON.stringify(message['id'])] : [],
    ),
  )
}

/** Returns the lists of tools in a response to one of the requests. */
function listsIn(message: unknown, ids: ReadonlySet<string>): readonly (readonly unknown[])[] {
  if (!isRecord(message) || !ids.has(JSON.stringify(message['id']))) return []
  const { result } = message
  return isRecord(result) && Array.isArray(result['tools']) ? [result['tools']] : []
}

function* hiddenTools(tools: readonly unknown[], mayCall: MayCall): Sliced<ReadonlySet<unknown>> {
  const hidden = new Set<unknown>()
  let decided = 0
  for (const tool of tools) {
    const name = nameOf(tool)
    if (name === undefined) continue
    if (!mayCall(name)) hidden.add(tool)
    decided += 1
    if (decided % NAMES_PER_SLICE === 0) yield
  }
  return hidden
}

function nameOf(tool: unknown): string | undefined {
  const name = isRecord(tool) ? tool['name'] : undefined
  return typeof name === 'string' ? name : undefined
}

function withoutTools(message: unknown, ids: ReadonlySet<string>, hidden: ReadonlySet<unknown>): unknown {
  const [list] = listsIn(message, ids)
  if (list === undefined || !isRecord(message) || !isRecord(message['result'])) return message
  return { ...message, result: { ...message['result'], tools: list.filter((tool) => !hidden.has(tool)) } }
}

/**
 * Parses JSON and keeps the text of each number, because bounds in the schemas of tools often exceed the precision of
 * a double.
 */
function parse(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value: unknown, { source }: { source?: string } = {}) =>
      typeof value === 'number' && source !== undefined ? rawJson(source) : value,
    )
  } catch {
    return undefined
  }
}

/** `JSON.rawJSON` is missing in TypeScript's library types. */
const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => object }
