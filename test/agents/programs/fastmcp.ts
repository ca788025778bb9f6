import { join } from 'node:path'
import type { AgentProgram } from '../program.ts'

export const fastmcp: AgentProgram = {
  id: 'fastmcp',
  name: 'fastmcp',
  packages: { registry: 'pypi', names: ['fastmcp'] },
  tool: 'mcp.tools.create_issue',
  model: null,
  command: ({ installed, home }) => [join(installed, 'bin/python'), `${home}/fastmcp_client.py`],
}
