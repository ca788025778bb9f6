import { join } from 'node:path'
import { MCP_CLIENT } from '../mcp-client.ts'
import type { AgentProgram } from '../program.ts'

export const githubMcpServer: AgentProgram = {
  id: 'github-mcp-server',
  name: 'github-mcp-server',
  // Proxies for modules may have no list of its versions.
  packages: {
    registry: 'go',
    names: ['github.com/github/github-mcp-server', 'v0.20.0', 'cmd/github-mcp-server'],
  },
  tool: 'codehost.issue.create',
  model: null,
  command: ({ installed }) => [...MCP_CLIENT, ...[join(installed, 'bin/github-mcp-server'), 'stdio']],
}
