import type { AgentProgram } from '../program.ts'
import { claudeCode } from './claude-code.ts'

const SERVER = { type: 'http', url: 'https://mcp.tools.example/mcp' }

export const claudeCodeMcp: AgentProgram = {
  ...claudeCode,
  id: 'claude-code-mcp',
  name: 'Claude Code, MCP over HTTP',
  tool: 'mcp.tools.create_issue',
  command: (place) => [
    ...claudeCode.command(place),
    ...['--mcp-config', 'mcp.json', '--strict-mcp-config', '--disallowedTools', 'Bash'],
  ],
  // Tools of MCP servers are otherwise searched for, and not offered.
  env: (place) => ({ ...claudeCode.env?.(place), ENABLE_TOOL_SEARCH: 'false' }),
  files: () => ({ 'mcp.json': JSON.stringify({ mcpServers: { tools: SERVER } }) }),
}
