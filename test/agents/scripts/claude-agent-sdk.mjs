import { query } from '@anthropic-ai/claude-agent-sdk'

const options = {
  mcpServers: { tools: { type: 'http', url: 'https://mcp.tools.example/mcp' } },
  allowedTools: ['mcp__tools__create_issue'],
  disallowedTools: ['Bash'],
}
for await (const message of query({ prompt: process.env.PROMPT, options }))
  if (message.type === 'result') console.log(message.result ?? JSON.stringify(message))
