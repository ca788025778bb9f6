import { openai } from '@ai-sdk/openai'
import { generateText, stepCountIs, tool } from 'ai'
import { z } from 'zod'
import { createIssue } from './create-issue.mjs'

const { text } = await generateText({
  model: openai('gpt-5'),
  prompt: process.env.PROMPT,
  tools: {
    create_issue: tool({
      description: 'Creates an issue',
      inputSchema: z.object({ title: z.string() }),
      execute: ({ title }) => createIssue(title),
    }),
  },
  stopWhen: stepCountIs(3),
})
console.log(text)
