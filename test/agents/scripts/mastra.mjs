import { openai } from '@ai-sdk/openai'
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'
import { createIssue } from './create-issue.mjs'

const createIssueTool = createTool({
  id: 'create_issue',
  description: 'Creates an issue',
  inputSchema: z.object({ title: z.string() }),
  execute: (input) => createIssue((input.context ?? input).title),
})
const agent = new Agent({
  id: 'triage',
  name: 'triage',
  instructions: 'You create issues.',
  model: openai('gpt-5'),
  tools: { create_issue: createIssueTool },
})
console.log((await agent.generate(process.env.PROMPT)).text)
