import { expect, it, vi } from 'vitest'
import { inboundHeaders } from '../../../../sidecar/pipeline/response/response-stages.ts'
import { outboundHeaders } from '../../../../sidecar/upstream/headers.ts'
import { startScripted } from '../../upstream/http1/scripted-upstream.ts'
import { LIST, start } from '../pipeline-world.ts'
import { testExchange } from '../test-exchange.ts'
import { connectorAt } from '../test-world.ts'

it('an answer that offers another way round (Alt-Svc) does not tell the agent of it', () => {
  const answer = [
    'Content-Type',
    'text/plain',
    'Alt-Svc',
    'h3=":443"; ma=86400',
    'alt-svc',
    'clear',
    'Age',
    '1',
  ]
  expect(inboundHeaders(answer)).toEqual(['Content-Type', 'text/plain', 'Age', '1'])
})

it('fields of one connection end at the gateway in both directions, named or listed', () => {
  const raw = [
    'Connection',
    'close, X-Hop',
    'X-Hop',
    '1',
    'Keep-Alive',
    'timeout=5',
    'Trailer',
    'x',
    'X',
    '2',
  ]
  expect(inboundHeaders(raw)).toEqual(['X', '2'])
  expect(outboundHeaders(raw, 'api.example', undefined)).toEqual(['host', 'api.example', 'X', '2'])
})

it.each([
  'X-Service-Decision',
  'x-service-error',
  'X-SERVICE-VERSION',
  'X-Service-Anything',
  'X_Service_Error',
  'x-service_decision',
])('an answer cannot speak for the gateway by %s', (name) => {
  const raw = ['Content-Type', 'text/plain', name, 'ALLOW', 'X-Services', '1', 'X-Serviced-By', 'a']
  expect(inboundHeaders(raw)).toEqual(['Content-Type', 'text/plain', 'X-Services', '1', 'X-Serviced-By', 'a'])
})

it('nor does an interim answer, or a trailer', async () => {
  const upstream = await startScripted((socket) => {
    socket.write(
      [
        'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX-Service-Decision: DENY\r\n\r\n',
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Service-Record: rec_x\r\n\r\n',
        '1\r\na\r\n0\r\nX-Sum: 1\r\nX-Service-Error: denied\r\nx_service_version: 9\r\n\r\n',
      ].join(''),
    )
  })
  try {
    const url = `http://127.0.0.1:${upstream.port}`
    const at = connectorAt(upstream.port, {
      upstream: { url, allowPrivateAddresses: true, allowPlaintextCredential: true },
    })
    const world = await start({ connectors: [at], permissions: [['codehost.*', 'allow']] })
    const exchange = testExchange(LIST)
    const interim = vi.spyOn(exchange.reply, 'interim')
    await world.run(exchange)
    const { reply } = exchange
    expect([reply.status, reply.text()]).toEqual([200, 'a'])
    expect(interim.mock.calls).toEqual([[103, ['Link', '</a>']]])
    expect(reply.headers).not.toContain('rec_x')
    expect(reply.trailers).toEqual(['X-Sum', '1'])
  } finally {
    await upstream.close()
  }
})
