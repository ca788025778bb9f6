import { expect, test } from 'vitest'
import { classify, needsBody } from '../../../core/connectors/classify.ts'
import { stripCredentials } from '../../../core/connectors/credentials/credentials.ts'
import { bindConnector, findConnector, indexConnectors } from '../../../core/connectors/registry.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { entryOf } from './golden.ts'
import { ticketing } from './ticketing.ts'

const bound = bindConnector(entryOf('generic', { domains: [], environment: 'production' }), ticketing)

function request(method: string, target: string) {
  const canonical = canonicalise({
    method,
    target,
    rawHeaders: ['Host', 'tickets.example.test'],
    httpVersion: '1.1',
    scheme: 'https',
    sources: {},
  })
  if (isRefusal(canonical)) throw new Error(canonical.detail)
  return canonical
}

test('a custom connector owns its domains', () => {
  expect(findConnector(indexConnectors([bound]), 'tickets.example.test', 443)?.connector).toBe(ticketing)
})

test('a custom connector names its requests, and leaves the rest unmapped', () => {
  expect(classify(bound, request('POST', '/tickets/7/close'))).toMatchObject({
    actions: [{ type: 'ticketing.ticket.close', resource: { target: '7', environment: 'production' } }],
  })
  expect(classify(bound, request('DELETE', '/tickets/7'))).toMatchObject({
    actions: [{ type: 'ticketing.unmapped.delete', risk: 'high', unmapped: true }],
  })
  expect(needsBody(bound, request('POST', '/tickets/7/close'))).toBe(false)
})

test('a custom connector sends exactly its own credential', () => {
  const edit = {
    rawHeaders: ['X-Ticket-Token', 'agents', 'Authorization', 'agents'],
    rawTarget: '/t?ticket_key=agents&a=1',
  }
  stripCredentials(edit, ticketing)
  ticketing.injectCredentials(edit, 'ours', ticketing.defaultAuth, request('GET', '/t'))
  expect(edit).toEqual({ rawHeaders: ['Authorization', `Basic ${btoa('robot:ours')}`], rawTarget: '/t?a=1' })
})
