import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { report } from './report.mjs'

const client = new Client({ name: 'test', version: '1.0.0' })
await client.connect(new StreamableHTTPClientTransport(new URL('https://mcp.tools.example/mcp')))
const call = async (name) => (await client.callTool({ name, arguments: { text: 'x' } })).content
await report({
  allowed: () => call('read_note'),
  denied: () => call('delete_note'),
  held: () => call('write_note'),
})
