import { expect, it } from 'vitest'
import { inboundHeaders, outboundHeaders } from '../../../sidecar/upstream/headers.ts'

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
