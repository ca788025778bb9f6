import { join } from 'node:path'
import type { AgentProgram } from '../program.ts'

export const langgraphPy: AgentProgram = {
  id: 'langgraph-py',
  name: 'LangGraph, Python',
  packages: { registry: 'pypi', names: ['langgraph', 'langchain-openai'] },
  tool: 'codehost.issue.create',
  model: 'llm_a',
  command: ({ installed, home }) => [join(installed, 'bin/python'), `${home}/langgraph_agent.py`],
}
