import type { AgentProgram } from '../program.ts'

export const mastra: AgentProgram = {
  id: 'mastra',
  name: 'Mastra',
  packages: { registry: 'npm', names: ['@mastra/core', '@ai-sdk/openai', 'zod'] },
  tool: 'codehost.issue.create',
  model: 'llm_a',
  command: ({ home }) => ['node', `${home}/mastra.mjs`],
}
