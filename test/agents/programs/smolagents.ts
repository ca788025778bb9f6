import { join } from 'node:path'
import type { AgentProgram } from '../program.ts'

export const smolagents: AgentProgram = {
  id: 'smolagents',
  name: 'smolagents',
  packages: { registry: 'pypi', names: ['smolagents[openai]'] },
  tool: 'codehost.issue.create',
  model: 'llm_a',
  command: ({ installed, home }) => [join(installed, 'bin/python'), `${home}/smolagents_agent.py`],
}
