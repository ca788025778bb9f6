import { join } from 'node:path'
import type { AgentProgram } from '../program.ts'

export const aider: AgentProgram = {
  id: 'aider',
  name: 'Aider',
  packages: { registry: 'pypi', names: ['aider-chat'] },
  tool: null,
  model: 'llm_a',
  command: ({ installed, prompt }) => [
    join(installed, 'bin/aider'),
    ...['--model', 'openai/gpt-4o', '--no-git', '--yes-always', '--no-show-model-warnings', '--no-pretty'],
    ...['--message', prompt],
  ],
}
