import { join } from 'node:path'
import { MCP_CLIENT } from '../mcp-client.ts'
import type { AgentProgram } from '../program.ts'

/** A client that knows of no HTTP, behind it. */
export const mcpRemote: AgentProgram = {
  id: 'mcp-remote',
  name: 'mcp-remote',
  packages: { registry: 'npm', names: ['mcp-remote'] },
  tool: 'mcp.tools.create_issue',
  model: null,
  command: ({ installed }) => [
    ...MCP_CLIENT,
    ...[join(installed, 'node_modules/.bin/mcp-remote'), 'https://mcp.tools.example/mcp'],
  ],
}
