import { join } from 'node:path'
import type { AgentProgram } from '../program.ts'

export const openaiAgentsPy: AgentProgram = {
  id: 'openai-agents-py',
  name: 'OpenAI Agents, Python',
  packages: { registry: 'pypi', names: ['openai-agents'] },
  tool: 'codehost.issue.create',
  model: 'llm_a',
  command: ({ installed, home }) => [join(installed, 'bin/python'), `${home}/openai-agents.py`],
}
