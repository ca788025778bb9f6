import type { AgentProgram } from '../program.ts'

export const claudeAgentSdk: AgentProgram = {
  id: 'claude-agent-sdk',
  name: 'Claude Agent SDK, MCP',
  packages: { registry: 'npm', names: ['@anthropic-ai/claude-agent-sdk', 'zod'] },
  tool: 'mcp.tools.create_issue',
  model: 'llm_b',
  command: ({ home }) => ['node', `${home}/claude-agent-sdk.mjs`],
  // Tools of MCP servers are otherwise searched for, and not offered.
  env: () => ({ IS_SANDBOX: '1', ENABLE_TOOL_SEARCH: 'false' }),
}
