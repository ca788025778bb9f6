import type { AgentProgram } from '../program.ts'
import { langgraphJs } from './langgraph-js.ts'

export const langgraphJsStreaming: AgentProgram = {
  ...langgraphJs,
  id: 'langgraph-js-streaming',
  name: 'LangGraph, JavaScript, streaming',
  env: () => ({ STREAMING: '1' }),
}
