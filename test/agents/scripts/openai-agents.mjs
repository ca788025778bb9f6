import { Agent, run, tool } from '@openai/agents'
import { z } from 'zod'
import { createIssue } from './create-issue.mjs'

const agent = new Agent({
  name: 'triage',
  tools: [
    tool({
      name: 'create_issue',
      description: 'Creates an issue',
      parameters: z.object({ title: z.string() }),
      execute: ({ title }) => createIssue(title),
    }),
  ],
})
console.log((await run(agent, process.env.PROMPT)).finalOutput)
