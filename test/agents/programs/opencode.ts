import { join } from 'node:path'
import type { AgentProgram } from '../program.ts'

export const opencode: AgentProgram = {
  id: 'opencode',
  name: 'OpenCode',
  packages: { registry: 'npm', names: ['opencode-ai'] },
  tool: 'codehost.issue.create',
  model: 'llm_b',
  command: ({ installed, prompt }) => [
    // What the script of the package would copy; runs on every processor.
    join(installed, `node_modules/opencode-${process.platform}-${process.arch}-baseline/bin/opencode`),
    ...['run', '--model', 'anthropic/claude-sonnet-4-5', prompt],
  ],
}
