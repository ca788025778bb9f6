/** Starts the MCP server that follows, and has it create an issue. Uses the SDK of this checkout. */
export const MCP_CLIENT = ['node', new URL('./mcp-stdio.mjs', import.meta.url).pathname] as const
