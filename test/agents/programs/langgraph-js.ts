import type { AgentProgram } from '../program.ts'

export const langgraphJs: AgentProgram = {
  id: 'langgraph-js',
  name: 'LangGraph, JavaScript',
  packages: {
    registry: 'npm',
    names: ['@langchain/langgraph', '@langchain/openai', '@langchain/core', 'zod'],
  },
  tool: 'codehost.issue.create',
  model: 'llm_a',
  command: ({ home }) => ['node', `${home}/langgraph.mjs`],
}
