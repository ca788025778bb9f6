import { describe, expect, test } from 'vitest'
import {
  BUILT_IN,
  buildHostIndex,
  connectorOfType,
  findConnector,
} from '../../../core/connectors/registry.ts'
import { entryOf } from './golden.ts'

describe('ownership of hosts', () => {
  const index = buildHostIndex([
    entryOf('codehost', { name: 'hub' }),
    entryOf('codehost', { name: 'ghe', baseUrl: 'https://GHE.corp.test:8443/api/v3' }),
    entryOf('generic', { name: 'wild', domains: ['*.corp.test'] }),
    entryOf('generic', { name: 'deeper', domains: ['*.eu.corp.test', 'Exact.EU.corp.test'] }),
    entryOf('generic', { name: 'ports', domains: ['ports.test'], ports: [8080] }),
    entryOf('generic', { name: 'first', domains: ['shared.test'] }),
    entryOf('generic', { name: 'second', domains: ['shared.test'], ports: [443, 9000] }),
    entryOf('generic', { name: 'v6', domains: ['2001:db8::1'] }),
  ])
  const owner = (host: string, port = 443) => findConnector(index, host, port)?.entry.name ?? null

  test.each<[string, number, string | null]>([
    ['api.github.com', 443, 'hub'],
    ['github.com', 443, 'hub'],
    ['uploads.github.com', 443, 'hub'],
    ['api.github.com', 80, 'hub'],
    ['api.github.com', 8443, null],
    ['api.github.com.evil.test', 443, null],
    ['evilapi.github.com', 443, null],
    ['ghe.corp.test', 8443, 'ghe'],
    ['ghe.corp.test', 443, 'ghe'],
    ['a.corp.test', 443, 'wild'],
    ['a.b.corp.test', 443, 'wild'],
    ['corp.test', 443, null],
    ['x.eu.corp.test', 443, 'deeper'],
    ['exact.eu.corp.test', 443, 'deeper'],
    ['xcorp.test', 443, null],
    ['ports.test', 8080, 'ports'],
    ['ports.test', 443, null],
    ['ports.test', 80, null],
    ['shared.test', 443, 'first'],
    ['shared.test', 9000, 'second'],
    ['2001:db8::1', 443, 'v6'],
    ['', 443, null],
  ])('%s:%d belongs to %s', (host, port, name) => {
    expect(owner(host, port)).toBe(name)
  })

  test('configured domains replace the built-in ones', () => {
    const own = buildHostIndex([entryOf('llm_a', { domains: ['models.corp.test'] })])
    expect(findConnector(own, 'api.openai.com', 443)).toBeNull()
    expect(findConnector(own, 'models.corp.test', 443)?.connector.name).toBe('llm_a')
  })
})

describe('the built-in connectors', () => {
  test('are the eight of the specification', () => {
    const names = ['codehost', 'llm_a', 'llm_b', 'llm_c', 'payments', 'chat', 'generic', 'webhook', 'mcp']
    expect(BUILT_IN.map((connector) => connector.name)).toEqual(names)
    expect(() => connectorOfType('other')).toThrow(/other/)
  })

  test('authenticate according to the specification', () => {
    const auth = Object.fromEntries(BUILT_IN.map((connector) => [connector.name, connector.defaultAuth]))
    expect(auth).toEqual({
      codehost: { type: 'token' },
      llm_a: { type: 'bearer' },
      llm_b: { type: 'header', header: 'x-api-key' },
      llm_c: { type: 'header', header: 'x-goog-api-key' },
      payments: { type: 'bearer' },
      chat: { type: 'bearer' },
      generic: { type: 'bearer' },
      webhook: { type: 'bearer' },
      mcp: { type: 'bearer' },
    })
  })
})
