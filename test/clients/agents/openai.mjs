import OpenAI from 'openai'
import { report } from './report.mjs'

const client = new OpenAI({ maxRetries: 0 })
await report({
  allowed: async () =>
    (await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })).id,
  stream: async () => {
    const stream = await client.chat.completions.create({
      model: 'm',
      stream: true,
      messages: [{ role: 'user', content: 'hi' }],
    })
    const parts = []
    for await (const part of stream) parts.push(part.choices[0]?.delta?.content ?? '')
    return parts.join('')
  },
  denied: async () => (await client.models.delete('ft-1')).id,
  held: async () => (await client.images.generate({ model: 'm', prompt: 'a cat' })).created,
})
