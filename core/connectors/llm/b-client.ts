/**
 * Catalogue rows of llm_b: requests that Claude Code and its SDK send without a command of the user (source: version
 * 2.1.197). Event reports are `compute`, because they change nothing at the provider.
 */
export const LLM_B_CLIENT = `
  GET    /                                             client.probe                  read    low @anonymous
  POST   /api/eval/{id}                                client.get_flags              read    low @anonymous
  POST   /api/event_logging/v2/batch                   client.log_events             compute low @anonymous
  POST   /api/event_logging/batch                      client.log_events             compute low @anonymous @same
  GET    /api/claude_code/settings                     client.get_settings           read    low
  GET    /api/claude_code/policy_limits                client.get_policy_limits      read    low
  GET    /api/claude_code/organizations/metrics_enabled client.get_metrics_enabled   read    low
  GET    /api/claude_cli/bootstrap                     client.get_bootstrap          read    low
  GET    /api/claude_code_penguin_mode                 client.get_penguin_mode       read    low
  GET    /mcp-registry/v0/servers                      client.list_mcp_servers       read    low @anonymous
`
