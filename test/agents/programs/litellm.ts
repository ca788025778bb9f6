import { join } from 'node:path'
import type { AgentProgram } from '../program.ts'

export const litellm: AgentProgram = {
  id: 'litellm',
  name: 'LiteLLM, Anthropic, streaming',
  packages: { registry: 'pypi', names: ['litellm'] },
  tool: 'codehost.issue.create',
  model: 'llm_b',
  command: ({ installed, home }) => [join(installed, 'bin/python'), `${home}/litellm_agent.py`],
}
