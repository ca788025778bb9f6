import type { AgentProgram } from '../program.ts'

export const aiSdk: AgentProgram = {
  id: 'ai-sdk',
  name: 'AI SDK',
  packages: { registry: 'npm', names: ['ai', '@ai-sdk/openai', 'zod'] },
  tool: 'codehost.issue.create',
  model: 'llm_a',
  command: ({ home }) => ['node', `${home}/ai-sdk.mjs`],
}
