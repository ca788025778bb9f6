import { readFileSync } from 'node:fs'
import proxy from '@fastify/http-proxy'
import Fastify from 'fastify'
import { govern, ready, record, SECRET } from './governance.mjs'

const app = Fastify({
  https: { key: readFileSync(process.env.KEY_FILE), cert: readFileSync(process.env.CERT_FILE) },
  bodyLimit: 1024 * 1024 * 1024,
})
await app.register(proxy, {
  upstream: `https://127.0.0.1:${process.env.UPSTREAM_PORT}`,
  undici: {
    connections: 512,
    pipelining: 1,
    // Its own default is not to verify.
    tls: { rejectUnauthorized: true },
    connect: { ca: readFileSync(process.env.CA_FILE), servername: 'api.openai.com' },
  },
  preHandler: async (request, reply) => {
    request.startedAt = performance.now()
    request.governed = govern(request.method, request.url)
    if (request.governed.decision !== 'allow') await reply.code(403).send({ error: 'denied' })
  },
  replyOptions: {
    rewriteRequestHeaders: (_request, headers) => ({ ...headers, host: 'api.openai.com', authorization: SECRET }),
  },
})
app.addHook('onResponse', async (request, reply) => {
  if (request.governed) record(request.governed.action, request.governed.decision, reply.statusCode, request.startedAt)
})
await app.listen({ host: '127.0.0.1', port: 0 })
ready(app.server.address().port)
