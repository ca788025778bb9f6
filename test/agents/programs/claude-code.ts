import { join } from 'node:path'
import type { AgentProgram } from '../program.ts'

export const claudeCode: AgentProgram = {
  id: 'claude-code',
  name: 'Claude Code',
  packages: { registry: 'npm', names: ['@anthropic-ai/claude-code'] },
  tool: 'codehost.issue.create',
  model: 'llm_b',
  command: ({ installed, prompt }) => [
    // What the script of the package would copy.
    join(installed, `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`),
    ...['-p', prompt, '--dangerously-skip-permissions'],
  ],
  // It skips its own questions as root only where it believes to be in a container.
  env: () => ({ IS_SANDBOX: '1', BASH_DEFAULT_TIMEOUT_MS: '120000' }),
}
