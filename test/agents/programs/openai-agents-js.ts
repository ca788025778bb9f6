import type { AgentProgram } from '../program.ts'

export const openaiAgentsJs: AgentProgram = {
  id: 'openai-agents-js',
  name: 'OpenAI Agents, JavaScript',
  packages: { registry: 'npm', names: ['@openai/agents', 'zod'] },
  tool: 'codehost.issue.create',
  model: 'llm_a',
  command: ({ home }) => ['node', `${home}/openai-agents.mjs`],
}
