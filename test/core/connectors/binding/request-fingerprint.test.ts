import { describe, expect, test } from 'vitest'
import {
  type FingerprintedRequest,
  fingerprintText,
} from '../../../../core/connectors/binding/request-fingerprint.ts'

const REQUEST: FingerprintedRequest['request'] = {
  method: 'POST',
  scheme: 'https',
  host: 'pay.example',
  port: 443,
  isUpgrade: false,
  rawTarget: '/v1/refunds',
}
const GIVEN: FingerprintedRequest = {
  ...{ agent: 'builder', connectorType: 'generic', request: REQUEST, body: 'a'.repeat(64) },
  rawHeaders: ['Host', 'pay.example', 'Accept', '*/*', 'X-Api-Key', 'one'],
}

describe('the fingerprint of a request', () => {
  test.each<[string, Partial<FingerprintedRequest>]>([
    ['another agent', { agent: 'other' }],
    ['another type of connector', { connectorType: 'webhook' }],
    ['another method', { request: { ...REQUEST, method: 'PUT' } }],
    ['http', { request: { ...REQUEST, scheme: 'http' } }],
    ['another host', { request: { ...REQUEST, host: 'pay.test' } }],
    ['another port', { request: { ...REQUEST, port: 8443 } }],
    ['an upgrade', { request: { ...REQUEST, isUpgrade: true } }],
    ['another query', { request: { ...REQUEST, rawTarget: '/v1/refunds?force=true' } }],
    ['another body', { body: 'b'.repeat(64) }],
    ['no body', { body: null }],
    ['a body without an end', { body: 'open' }],
    ['a field that the card leaves out', { rawHeaders: [...GIVEN.rawHeaders, 'Accept-Language', 'de'] }],
    ['a value that the card hides', { rawHeaders: [...GIVEN.rawHeaders.slice(0, -1), 'two'] }],
    ['a repeated field', { rawHeaders: [...GIVEN.rawHeaders, 'Accept', '*/*'] }],
  ])('differs for %s', (_what, change) => {
    expect(fingerprintText({ ...GIVEN, ...change })).not.toBe(fingerprintText(GIVEN))
  })

  test('is the same for other fields of the connection and another case of names', () => {
    const rawHeaders = [
      'ACCEPT',
      '*/*',
      'x-api-key',
      'one',
      'Proxy-Authorization',
      'Basic eA==',
      'User-Agent',
      'x',
    ]
    expect(fingerprintText({ ...GIVEN, rawHeaders })).toBe(fingerprintText(GIVEN))
  })
})
