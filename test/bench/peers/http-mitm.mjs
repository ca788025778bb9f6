import { readFileSync } from 'node:fs'
import https from 'node:https'
import { Proxy } from 'http-mitm-proxy'
import { govern, ready, record, SECRET } from './governance.mjs'

const proxy = new Proxy()
proxy.onError((_context, error) => {
  if (process.env.VERBOSE) console.error(error?.message)
})
proxy.onRequest((context, callback) => {
  const request = context.clientToProxyRequest
  const { action, decision } = govern(request.method, request.url)
  const startedAt = performance.now()
  if (decision !== 'allow') {
    context.proxyToClientResponse.writeHead(403)
    context.proxyToClientResponse.end('{"error":"denied"}')
    return
  }
  Object.assign(context.proxyToServerRequestOptions, { host: '127.0.0.1', port: Number(process.env.UPSTREAM_PORT) })
  context.proxyToServerRequestOptions.headers.authorization = SECRET
  context.onResponseEnd((ctx, done) => {
    record(action, decision, ctx.serverToProxyResponse.statusCode, startedAt)
    return done()
  })
  return callback()
})
const agent = new https.Agent({
  keepAlive: true,
  ca: readFileSync(process.env.CA_FILE),
  servername: 'api.openai.com',
  maxSockets: 512,
})
proxy.listen({ host: '127.0.0.1', port: 0, sslCaDir: process.env.STATE_DIR, httpsAgent: agent, keepAlive: true }, () => {
  ready(proxy.httpPort)
})
