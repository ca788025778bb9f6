import { readFileSync } from 'node:fs'
import * as mockttp from 'mockttp'
import { govern, ready, record, SECRET } from './governance.mjs'

const https = await mockttp.generateCACertificate()
const server = mockttp.getLocal({ https, recordTraffic: false, http2: false })
await server.start()
const started = new Map()
// Governance in a matcher and an event, not in beforeRequest and beforeResponse: those would buffer every body.
await server.on('response-initiated', (response) => {
  const [action, startedAt] = started.get(response.id) ?? ['unknown', performance.now()]
  started.delete(response.id)
  record(action, 'allow', response.statusCode, startedAt)
})
await server
  .forAnyRequest()
  .matching((request) => {
    const { action, decision } = govern(request.method, new URL(request.url).pathname)
    started.set(request.id, [action, performance.now()])
    return decision === 'allow'
  })
  .thenPassThrough({
    transformRequest: {
      replaceHost: { targetHost: `127.0.0.1:${process.env.UPSTREAM_PORT}`, updateHostHeader: false },
      updateHeaders: { authorization: SECRET },
    },
    additionalTrustedCAs: [{ cert: readFileSync(process.env.CA_FILE, 'utf8') }],
  })
await server
  .forAnyWebSocket()
  .thenPassThrough({
    transformRequest: {
      replaceHost: { targetHost: `127.0.0.1:${process.env.UPSTREAM_PORT}`, updateHostHeader: false },
    },
    additionalTrustedCAs: [{ cert: readFileSync(process.env.CA_FILE, 'utf8') }],
  })
ready(server.port)
