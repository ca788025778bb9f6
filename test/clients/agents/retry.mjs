import Anthropic from '@anthropic-ai/sdk'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Octokit } from '@octokit/rest'
import { WebClient } from '@slack/web-api'
import OpenAI, { toFile } from 'openai'
import Stripe from 'stripe'
import { report } from './report.mjs'

/** Shorter than a person takes, so that the client gives up on its first try and tries again. */
const timeout = 1_500
const RETRIES = 20
const quiet = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => 'error',
  setName() {},
}
const message = { model: 'm', max_tokens: 8, messages: [{ role: 'user', content: 'hi' }] }

/** Clients that leave trying again to their caller. */
async function again(call) {
  for (let tries = 0; ; tries++) {
    try {
      return await call()
    } catch (error) {
      if (tries === RETRIES) throw error
    }
  }
}

const openai = () => new OpenAI({ maxRetries: RETRIES, timeout })
await report({
  openai: async () => (await openai().images.generate({ model: 'm', prompt: 'a cat' })).created,
  'openai-file': async () => {
    const file = await toFile(Buffer.from('{"messages":[]}\n'), 'train.jsonl')
    return (await openai().files.create({ file, purpose: 'fine-tune' })).id
  },
  anthropic: async () => {
    const client = new Anthropic({ maxRetries: RETRIES, timeout })
    return (await client.messages.batches.create({ requests: [{ custom_id: 'a', params: message }] })).id
  },
  stripe: async () => {
    const httpClient = Stripe.createFetchHttpClient()
    const client = new Stripe(process.env.STRIPE_API_KEY, { httpClient, maxNetworkRetries: RETRIES, timeout })
    return (await client.refunds.create({ charge: 'ch_1' }, { stripeAccount: 'acct_1' })).id
  },
  octokit: async () => {
    const client = new Octokit({ auth: process.env.GITHUB_TOKEN, log: quiet })
    const merge = () =>
      client.rest.pulls.merge({
        ...{ owner: 'acme', repo: 'site', pull_number: 7 },
        request: { signal: AbortSignal.timeout(timeout) },
      })
    return (await again(merge)).status
  },
  slack: async () => {
    const retryConfig = { retries: RETRIES, minTimeout: 100, factor: 1 }
    const client = new WebClient(process.env.SLACK_BOT_TOKEN, { retryConfig, timeout, logger: quiet })
    return (await client.conversations.archive({ channel: 'C1' })).ok
  },
  mcp: async () => {
    const client = new Client({ name: 'test', version: '1.0.0' })
    // The protocol leaves the connection of a request that timed out open; callers close it in their own fetch.
    const fetchOrLeave = (url, init) => fetch(url, { ...init, signal: AbortSignal.timeout(timeout) })
    const url = new URL('https://mcp.tools.example/mcp')
    await client.connect(new StreamableHTTPClientTransport(url, { fetch: fetchOrLeave }))
    const call = { name: 'write_note', arguments: { text: 'x' } }
    const onprogress = () => undefined
    // Claude Code numbers each use of a tool.
    const attempt = () => ({ ...call, _meta: { 'claudecode/toolUseId': `toolu_${crypto.randomUUID()}` } })
    return (await again(() => client.callTool(attempt(), undefined, { timeout, onprogress }))).content
  },
})
