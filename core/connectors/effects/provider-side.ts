/**
 * Effect classes of the actions that a model provider performs for a request. `effect-table.ts` describes the format.
 */
export const PROVIDER_SIDE_EFFECTS = `
  # The provider sends data to, or fetches it from, an address or account in the request.
  egress provider_tool.{connector,web_fetch,web_search} provider_fetch.url
  # A server in the request, with its tools and their agents.
  delegate,egress provider_tool.mcp
  # Programs run at the provider, or the model drives a machine.
  code_execution provider_tool.code
  code_execution,delegate provider_tool.computer
  # A tool type without a row may have any of these effects.
  code_execution,delegate,egress provider_tool.unknown
  # An agent of the provider continues on its own, or receives a pending answer.
  delegate hosted_approval.answer hosted_agent.run
  # Model requests of a file; each may have its own tools.
  delegate batch.run
  # Files of the account are read.
  none provider_tool.file_search
`
