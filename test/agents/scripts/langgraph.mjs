import { tool } from '@langchain/core/tools'
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
import { createIssue } from './create-issue.mjs'

const tools = [
  tool(({ title }) => createIssue(title), {
    name: 'create_issue',
    description: 'Creates an issue',
    schema: z.object({ title: z.string() }),
  }),
]
const model = new ChatOpenAI({ model: 'gpt-5', streaming: process.env.STREAMING === '1' }).bindTools(tools)
const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode('tools', new ToolNode(tools))
  .addEdge('__start__', 'model')
  .addConditionalEdges('model', toolsCondition)
  .addEdge('tools', 'model')
  .compile()
const { messages } = await graph.invoke({ messages: [{ role: 'user', content: process.env.PROMPT }] })
console.log(messages.at(-1).content)
