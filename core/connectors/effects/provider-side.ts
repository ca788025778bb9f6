/** Effect classes of the actions that the provider performs for a model request; see `effect-table.ts`. */
export const PROVIDER_SIDE_EFFECTS = `
  # The provider sends data to, or fetches it from, an address or account that the request names.
  egress provider_tool.{connector,web_fetch,web_search} provider_fetch.url
  # A server that the request names, with its tools and the agents behind them.
  delegate,egress provider_tool.mcp
  # Programs run at the provider, or the model drives a machine.
  code_execution provider_tool.code
  code_execution,delegate provider_tool.computer
  # A tool type that no row describes may do any of these.
  code_execution,delegate,egress provider_tool.unknown
  # An agent of the provider goes on by itself, or gets the answer that it waits for.
  delegate hosted_approval.answer hosted_agent.run
  # Model requests of a file; each may name tools of its own.
  delegate batch.run
  # Files of the account are read.
  none provider_tool.file_search
`
