import { join } from 'node:path'
import type { AgentProgram } from '../program.ts'

export const codex: AgentProgram = {
  id: 'codex',
  name: 'Codex',
  packages: { registry: 'npm', names: ['@openai/codex'] },
  tool: 'codehost.issue.create',
  model: 'llm_a',
  command: ({ installed, prompt }) => [
    join(installed, 'node_modules/.bin/codex'),
    ...['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
  ],
  // `codex exec` reads its key from this variable.
  env: () => ({ CODEX_API_KEY: 'sk-chaperone-placeholder' }),
}
