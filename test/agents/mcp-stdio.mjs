import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

/** Starts the MCP server that its arguments name, and has it create an issue. */
const [command, ...args] = process.argv.slice(2)
const client = new Client({ name: 'release-check', version: '1.0.0' })
await client.connect(new StdioClientTransport({ command, args, env: process.env }))
const { tools } = await client.listTools()
const name = tools.find((tool) => /create_issue|issue_write/.test(tool.name))?.name ?? 'create_issue'
const call = { owner: 'acme', repo: 'site', title: process.env.CELL, method: 'create' }
const options = { timeout: 150_000, resetTimeoutOnProgress: true }
try {
  const result = await client.callTool({ name, arguments: call }, undefined, options)
  console.log(JSON.stringify(result))
} finally {
  await client.close()
}
