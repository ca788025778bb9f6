import { WebClient } from '@slack/web-api'
import { report } from './report.mjs'

const quiet = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => 'error',
  setName() {},
}
const client = new WebClient(process.env.SLACK_BOT_TOKEN, { retryConfig: { retries: 0 }, logger: quiet })
await report({
  allowed: async () => (await client.chat.postMessage({ channel: 'C1', text: 'hello' })).ok,
  denied: async () => (await client.chat.delete({ channel: 'C1', ts: '1.2' })).ok,
  held: async () => (await client.conversations.archive({ channel: 'C1' })).ok,
})
