import type { AgentProgram } from '../program.ts'

export const aiSdkAnthropic: AgentProgram = {
  id: 'ai-sdk-anthropic',
  name: 'AI SDK, Anthropic, streaming',
  packages: { registry: 'npm', names: ['ai', '@ai-sdk/anthropic', 'zod'] },
  tool: 'codehost.issue.create',
  model: 'llm_b',
  command: ({ home }) => ['node', `${home}/ai-sdk-anthropic.mjs`],
}
