import { join } from 'node:path'
import { MCP_CLIENT } from '../mcp-client.ts'
import type { AgentProgram } from '../program.ts'

export const serverGithub: AgentProgram = {
  id: 'server-github',
  name: '@modelcontextprotocol/server-github',
  packages: { registry: 'npm', names: ['@modelcontextprotocol/server-github'] },
  tool: 'codehost.issue.create',
  model: null,
  command: ({ installed }) => [...MCP_CLIENT, join(installed, 'node_modules/.bin/mcp-server-github')],
}
