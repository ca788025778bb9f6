import { exceedsJsonBounds } from '../../request/json/json-size.ts'
import type { Sliced } from '../../sliced.ts'
import { isRecord } from '../fields/fields.ts'

/** Whether the agent may call a tool of this name, now or after a person agreed. */
export type MayCall = (toolName: string) => boolean

/** What a filter made of one message: the same bytes, or a shorter list and what is missing in it. */
export type FilteredMessage = { readonly text: string; readonly hidden: readonly string[] }

/** Answers and events beyond these pass as they are. */
export const TOOL_LIST_BOUNDS = { chars: 256 * 1024, tools: 1_000, nodes: 20_000, commas: 20_000 } as const
/** Names that are decided between two yields. */
export const NAMES_PER_SLICE = 32

/**
 * Takes the tools that the agent may not call out of an answer to `tools/list`, so that a model is not shown what it
 * would be refused. `ids` are those of the requests (as JSON). Everything else, an answer beyond `TOOL_LIST_BOUNDS`, and
 * one in which nothing is hidden, comes back byte for byte. This is a courtesy, no protection: a call is decided on its
 * own. Yields after the parsing and after each `NAMES_PER_SLICE` names.
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

/** The ids (as JSON) of the `tools/list` requests among what the agent sent. */
export function toolListIds(body: unknown): ReadonlySet<string> {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
  const requests = messages.filter((message) => isRecord(message) && message['method'] === 'tools/list')
  return new Set(
    requests.flatMap((message) =>
      isRecord(message) && message['id'] !== undefined ? [JSON.stringify(message['id'])] : [],
    ),
  )
}

/** The list of tools in an answer to one of the requests. */
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

/** Numbers stay the text that they were: the bounds in a tool's schema are often beyond what a double can hold. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value: unknown, { source }: { source?: string } = {}) =>
      typeof value === 'number' && source !== undefined ? rawJson(source) : value,
    )
  } catch {
    return undefined
  }
}

/** Not in the library's types yet. */
const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => object }
