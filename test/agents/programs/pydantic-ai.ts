import { join } from 'node:path'
import type { AgentProgram } from '../program.ts'

export const pydanticAi: AgentProgram = {
  id: 'pydantic-ai',
  name: 'Pydantic AI',
  packages: { registry: 'pypi', names: ['pydantic-ai-slim[openai]'] },
  tool: 'codehost.issue.create',
  model: 'llm_a',
  command: ({ installed, home }) => [join(installed, 'bin/python'), `${home}/pydantic-ai.py`],
}
