import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { report } from './report.mjs'

/** Reads at the gateway itself what the agent may do, and asks for what it may not. */
const client = new Client({ name: 'test', version: '1.0.0' })
await client.connect(new StreamableHTTPClientTransport(new URL('http://chaperone.internal/mcp')))
const call = async (name, input) => {
  const { content, isError } = await client.callTool({ name, arguments: input })
  return { text: content[0].text, isError: isError === true }
}
await report({
  all: async () => ({
    tools: (await client.listTools()).tools.map(({ name }) => name),
    may: await call('what_may_i_do', { connector_type: 'codehost' }),
    denied: await call('explain', { action: 'codehost.branch.delete' }),
    unknown: await call('explain', { action: 'no.such.action' }),
    asked: await call('request_access', { action: 'codehost.branch.delete', reason: 'The branch is merged' }),
  }),
})
