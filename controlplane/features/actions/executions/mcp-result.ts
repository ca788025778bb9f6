/**
 * JSON-RPC id of the request that an execution sends. Each execution sends a single request
 * (`core/connectors/mcp/to-request.ts`).
 */
const ID = 1

/**
 * Returns the JSON-RPC response of an MCP call. A server may reply with JSON or with server-sent events (MCP,
 * Streamable HTTP); both give the same result. Results of other actions are returned unchanged.
 */
export function mcpResult(actionType: string, result: unknown): unknown {
  if (!actionType.startsWith('mcp.') || typeof result !== 'string') return result
  const answers = eventsIn(result).flatMap((data) => answerIn(data) ?? [])
  return answers[0] ?? result
}

/**
 * Returns the data of each server-sent event. The data lines of one event are joined, and a blank line ends an event.
 */
function eventsIn(text: string): readonly string[] {
  return text
    .split(/\r?\n\r?\n/)
    .map((event) => event.split(/\r?\n/).filter((line) => line.startsWith('data:')))
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map((line) => line.slice('data:'.length).replace(/^ /, '')).join('\n'))
}

/**
 * Parses the data of an event. Returns the response to the request of the execution; null for notifications and
 * requests of the server, which may precede the response.
 */
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
