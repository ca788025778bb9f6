import type { AgentProgram } from '../program.ts'
import { langgraphPy } from './langgraph-py.ts'

export const langgraphPyStreaming: AgentProgram = {
  ...langgraphPy,
  id: 'langgraph-py-streaming',
  name: 'LangGraph, Python, streaming',
  env: () => ({ STREAMING: '1' }),
}
