import { anthropic } from '@ai-sdk/anthropic'
import { stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { createIssue } from './create-issue.mjs'

const { textStream } = streamText({
  model: anthropic('claude-sonnet-4-5'),
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
for await (const text of textStream) process.stdout.write(text)
