import type { IncomingMessage, ServerResponse } from 'node:http'
import { runGitBackend } from './git-backend.ts'
import type { Recorder } from './recorder.ts'
import { type Answer, replyJson, startRecorder } from './recorder.ts'
import { createTestCa } from './test-ca.ts'

/** Hosts of the providers, a git host and an MCP server, for which the recorder has certificates. */
const VENDOR_HOSTS = [
  'api.github.com',
  'github.com',
  'api.openai.com',
  'api.anthropic.com',
  'generativelanguage.googleapis.com',
  'api.stripe.com',
  'slack.com',
  'mcp.tools.example',
] as const

/** Stored credentials by connector name. The upstream must receive them in place of the agents' placeholders. */
export const SECRETS = {
  codehost: 'ghp_injected_0001',
  openai: 'sk-injected-0002',
  anthropic: 'sk-ant-injected-0003',
  payments: 'sk_live_injected_0004',
  chat: 'xoxb-injected-0005',
  mcp: 'mcp-injected-0006',
  gemini: 'AIza-injected-0007',
} as const

export type Vendors = { readonly recorder: Recorder; readonly manifests: string }

/**
 * Starts one recorder that responds like all of these providers. Returns the recorder and the manifests that route the
 * providers' hosts to it.
 */
export async function startVendors(options: { readonly gitRoot?: string } = {}): Promise<Vendors> {
  const ca = createTestCa()
  const recorder = await startRecorder({
    tls: ca.issue(...VENDOR_HOSTS),
    answer: vendorAnswer(options.gitRoot),
  })
  return { recorder, manifests: vendorManifests(recorder.port, ca.cert) }
}

function vendorAnswer(gitRoot: string | undefined): Answer {
  return (request, response, seen) => {
    const host = request.headers.host?.split(':')[0]
    if (host === 'github.com' && gitRoot !== undefined) return runGitBackend(gitRoot, request, response)
    if (host === 'mcp.tools.example') return mcpServer(request, response, seen)
    return answerOf(request)(request, response, seen)
  }
}

function answerOf(request: IncomingMessage): Answer {
  const path = request.url?.split('?')[0] ?? ''
  const key = Object.keys(ANSWERS).find((pattern) => path.endsWith(pattern))
  if (key === '/chat/completions') return chatCompletion
  if (path.endsWith(':streamGenerateContent')) return contentStream
  return replyJson(
    key === undefined ? { ok: true, id: 'obj_1' } : ANSWERS[key],
    key === '/issues' ? 201 : 200,
  )
}

const GENERATED = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
}

const ANSWERS: Readonly<Record<string, unknown>> = {
  '/issues': { number: 1, title: 'hello' },
  '/merge': { merged: true, sha: 'abc', message: 'merged' },
  '/chat/completions': null,
  '/images/generations': { created: 1, data: [{ url: 'https://img.example/1' }] },
  '/v1/messages': {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'hi' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  '/v1/messages/batches': { id: 'msgbatch_1', type: 'message_batch', processing_status: 'in_progress' },
  ':generateContent': GENERATED,
  ':batchGenerateContent': { name: 'batches/b1' },
  '/v1/customers': { id: 'cus_1', object: 'customer' },
  '/v1/refunds': { id: 're_1', object: 'refund' },
  '/api/chat.postMessage': { ok: true, channel: 'C1', ts: '1.2' },
  '/api/conversations.archive': { ok: true },
}

const COMPLETION = {
  id: 'chatcmpl_1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
}

const chatCompletion: Answer = (request, response, seen) => {
  request.on('end', () => {
    if (seen.body.includes('"stream":true')) return streamCompletion(response)
    const text = JSON.stringify(COMPLETION)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length }).end(text)
  })
}

function streamCompletion(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const content of ['go', 'ver', 'ned']) {
    const part = { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] }
    response.write(`data: ${JSON.stringify(part)}\n\n`)
  }
  response.end('data: [DONE]\n\n')
}

const contentStream: Answer = (request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const text of ['go', 'ver', 'ned'])
    response.write(`data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text }] } }] })}\r\n\r\n`)
  response.end()
}

/** Implements the part of a Streamable HTTP MCP server that the official client needs. */
const mcpServer: Answer = (request, response, seen) => {
  request.on('end', () => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    const message = JSON.parse(seen.body.toString()) as {
      id?: number
      method: string
      params?: Record<string, unknown>
    }
    if (message.id === undefined) return response.writeHead(202).end()
    const reply = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: mcpResult(message) })
    return response.writeHead(200, { 'content-type': 'application/json' }).end(reply)
  })
}

function mcpResult(message: { method: string; params?: Record<string, unknown> }): unknown {
  if (message.method === 'initialize') {
    const protocolVersion = message.params?.['protocolVersion']
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'notes', version: '1.0.0' } }
  }
  if (message.method === 'tools/list') {
    const tool = (name: string) => ({ name, inputSchema: { type: 'object' } })
    return { tools: [tool('read_note'), tool('write_note'), tool('delete_note')] }
  }
  return { content: [{ type: 'text', text: 'done' }] }
}

type ConnectorText = { name: keyof typeof SECRETS; type: string; extra?: string }
const CONNECTORS: readonly ConnectorText[] = [
  { name: 'codehost', type: 'codehost' },
  { name: 'openai', type: 'llm_a', extra: '  providerTools: { allow: [provider_tool.unknown] }\n' },
  { name: 'anthropic', type: 'llm_b' },
  { name: 'payments', type: 'payments' },
  { name: 'chat', type: 'chat' },
  { name: 'gemini', type: 'llm_c', extra: '  errorShape: provider\n' },
  { name: 'mcp', type: 'mcp', extra: '  domains: [mcp.tools.example]\n' },
]

/** Allowed, denied and held actions of every connector. Tests of all clients use the same actions. */
const RULES: ReadonlyArray<readonly [type: string, pattern: string, decision: string]> = [
  ['codehost', 'codehost.issue.*', 'allow'],
  ['codehost', 'codehost.git.fetch', 'allow'],
  ['codehost', 'codehost.git.push', 'require_approval'],
  ['codehost', 'codehost.branch.create', 'require_approval'],
  ['codehost', 'codehost.pr.merge', 'require_approval'],
  ['codehost', 'codehost.branch.delete', 'deny'],
  ['llm_a', 'llm_a.chat.*', 'allow'],
  ['llm_a', 'llm_a.websocket.open', 'allow'],
  ['llm_a', 'llm_a.provider_tool.unknown', 'allow'],
  ['llm_a', 'llm_a.image.generate', 'require_approval'],
  ['llm_a', 'llm_a.model.delete', 'deny'],
  ['llm_a', 'llm_a.file.upload', 'require_approval'],
  ['llm_b', 'llm_b.*', 'deny'],
  ['llm_b', 'llm_b.message.*', 'allow'],
  ['llm_b', 'llm_b.batch.create', 'require_approval'],
  ['llm_b', 'llm_b.batch.run', 'allow'],
  ['llm_c', 'llm_c.content.*', 'allow'],
  ['llm_c', 'llm_c.batch.create', 'require_approval'],
  ['llm_c', 'llm_c.batch.run', 'allow'],
  ['llm_c', 'llm_c.file.delete', 'deny'],
  ['payments', 'payments.customer.create', 'allow'],
  ['payments', 'payments.charge.refund', 'require_approval'],
  ['payments', 'payments.payout.create', 'deny'],
  ['chat', 'chat.message.post', 'allow'],
  ['chat', 'chat.channel.archive', 'require_approval'],
  ['chat', 'chat.message.delete', 'deny'],
  ['mcp', 'mcp.rpc.*', 'allow'],
  ['mcp', 'mcp.tools.read_*', 'allow'],
  ['mcp', 'mcp.tools.write_*', 'require_approval'],
  ['mcp', 'mcp.tools.delete_*', 'deny'],
]

function vendorManifests(port: number, caPem: string): string {
  const ca = caPem.trim().replaceAll('\n', '\n      ')
  const connectors = CONNECTORS.map(
    ({ name, type, extra = '' }) => `apiVersion: chaperone.dev/v1alpha1
kind: Connector
metadata: { name: ${name} }
spec:
  type: ${type}
${extra}  credential: { secretRef: { name: vendors, key: ${name} } }
  upstream:
    url: https://127.0.0.1:${port}
    allowPrivateAddresses: true
    caBundle: |
      ${ca}
`,
  )
  const secret = `apiVersion: v1\nkind: Secret\nmetadata: { name: vendors }\nstringData:\n${Object.entries(
    SECRETS,
  )
    .map(([name, value]) => `  ${name}: ${value}`)
    .join('\n')}\n`
  const permission = `apiVersion: chaperone.dev/v1alpha1\nkind: Permission\nmetadata: { name: vendors }\nspec:\n  gatewayRefs: [{ name: local }]\n  rules:\n${RULES.map(
    ([type, pattern, decision]) =>
      `    - { connectorType: ${type}, actionPattern: '${pattern}', decision: ${decision} }`,
  ).join('\n')}\n`
  const gateway = 'apiVersion: chaperone.dev/v1alpha1\nkind: Gateway\nmetadata: { name: local }\nspec: {}\n'
  return [gateway, secret, permission, ...connectors].join('---\n')
}
