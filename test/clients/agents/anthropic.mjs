import Anthropic from '@anthropic-ai/sdk'
import { report } from './report.mjs'

const client = new Anthropic({ maxRetries: 0 })
const message = { model: 'm', max_tokens: 8, messages: [{ role: 'user', content: 'hi' }] }
await report({
  allowed: async () => (await client.messages.create(message)).id,
  denied: async () => (await client.messages.batches.delete('msgbatch_1')).id,
  held: async () =>
    (await client.messages.batches.create({ requests: [{ custom_id: 'a', params: message }] })).id,
})
