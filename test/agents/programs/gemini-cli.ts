import { join } from 'node:path'
import type { AgentProgram } from '../program.ts'

export const geminiCli: AgentProgram = {
  id: 'gemini-cli',
  name: 'Gemini CLI',
  packages: { registry: 'npm', names: ['@google/gemini-cli'] },
  tool: 'codehost.issue.create',
  model: 'llm_c',
  command: ({ installed, prompt }) => [
    join(installed, 'node_modules/.bin/gemini'),
    ...['--model', 'gemini-2.5-pro', '--yolo', '--prompt', prompt],
  ],
  env: () => ({ GEMINI_SANDBOX: 'false', GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
  files: () => ({
    '.gemini/settings.json': '{ "security": { "auth": { "selectedType": "gemini-api-key" } } }',
  }),
}
