import { join } from 'node:path'
import type { AgentProgram } from '../program.ts'

export const crewai: AgentProgram = {
  id: 'crewai',
  name: 'CrewAI',
  packages: { registry: 'pypi', names: ['crewai'] },
  tool: 'codehost.issue.create',
  model: 'llm_a',
  command: ({ installed, home }) => [join(installed, 'bin/python'), `${home}/crewai_agent.py`],
}
