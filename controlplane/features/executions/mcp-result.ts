/** The id of the only request that an execution sends (`core/connectors/mcp/to-request.ts`). */
const ID = 1

/**
 * An MCP server may answer a call with JSON or with a stream of events, as it likes. Whoever executes an action gets the
 * same either way: the JSON-RPC answer. What is no such stream, or holds no answer, stays as it is.
 */
export function mcpResult(actionType: string, result: unknown): unknown {
  if (!actionType.startsWith('mcp.') || typeof result !== 'string') return result
  const answers = eventsIn(result).flatMap((data) => answerIn(data) ?? [])
  return answers[0] ?? result
}

/** The data of each event (server-sent events: lines of one event are joined, a blank line ends it). */
function eventsIn(text: string): readonly string[] {
  return text
    .split(/\r?\n\r?\n/)
    .map((event) => event.split(/\r?\n/).filter((line) => line.startsWith('data:')))
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map((line) => line.slice('data:'.length).replace(/^ /, '')).join('\n'))
}

/** Notifications and requests of the server may come before the answer. */
function answerIn(data: string): object | null {
  const message = parsed(data)
  if (typeof message !== 'object' || message === null || Reflect.get(message, 'id') !== ID) return null
  return 'result' in message || 'error' in message ? message : null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
