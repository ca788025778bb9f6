import { readFileSync } from 'node:fs'
import * as mockttp from 'mockttp'
import { govern, ready, record, SECRET } from './governance.mjs'

const https = await mockttp.generateCACertificate()
const server = mockttp.getLocal({ https, recordTraffic: false, http2: false })
await server.start()
const started = new Map()
await server.forAnyRequest().thenPassThrough({
  forwarding: { targetHost: `127.0.0.1:${process.env.UPSTREAM_PORT}`, updateHostHeader: false },
  additionalTrustedCAs: [{ cert: readFileSync(process.env.CA_FILE, 'utf8') }],
  ignoreHostHttpsErrors: true,
  beforeRequest: (request) => {
    const { action, decision } = govern(request.method, new URL(request.url).pathname)
    if (decision !== 'allow') return { response: { statusCode: 403, body: '{"error":"denied"}' } }
    started.set(request.id, [action, performance.now()])
    return { headers: { ...request.headers, authorization: SECRET } }
  },
  beforeResponse: (response) => {
    const [action, startedAt] = started.get(response.id) ?? ['unknown', performance.now()]
    started.delete(response.id)
    record(action, 'allow', response.statusCode, startedAt)
    return undefined
  },
})
ready(server.port)
