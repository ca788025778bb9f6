import { describe, expect, test } from 'vitest'
import type { CanonicalRequest } from '../../../core/request/canonical.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import { createUnlistedPorts } from '../../../sidecar/capture/unlisted-ports.ts'
import { snapshotOf } from '../pipeline/test-world.ts'

const listing = (allowedHosts: string[], gateway: object = {}): Snapshot =>
  snapshotOf({ gateway: { egress: { allowedHosts }, ...gateway } }, 1, 1)

/** What is reported under `now`, which lists the entries of the requests unless stated otherwise. */
function warningsOf(
  snapshot: Snapshot,
  requests: readonly (readonly [host: string, port: number])[],
  now: Snapshot | null = snapshot,
): readonly string[] {
  const ports = createUnlistedPorts()
  for (const [host, port] of requests) ports.note(exchangeOf(snapshot, host, port))
  return ports.warnings(now)
}

const exchangeOf = (snapshot: Snapshot, host: string, port: number) => ({
  snapshot,
  request: { host, port } as CanonicalRequest,
})

describe('a port that an entry of allowedHosts does not cover', () => {
  test('is named once, with the entry and what to add', () => {
    expect(warningsOf(listing(['example.com']), Array(3).fill(['example.com', 8443]))).toEqual([
      'Agents requested example.com:8443, but example.com in egress.allowedHosts covers port 443 only. If the agents need this port, add example.com:8443.',
    ])
  })

  test.each([
    ['example.com:8443', 'example.com', 443, 'add example.com:443'],
    ['example.com:8443', 'example.com', 443, 'covers port 8443 only'],
    ['*.example.com', 'a.b.example.com', 22, 'add *.example.com:22'],
    ['EXAMPLE.com', 'example.com', 80, 'add EXAMPLE.com:80'],
    ['2001:db8::1', '2001:db8::1', 22, 'add [2001:db8::1]:22'],
    ['[2001:db8::1]:8443', '2001:db8::1', 22, 'add [2001:db8::1]:22'],
    ['10.0.0.1', '10.0.0.1', 22, 'add 10.0.0.1:22'],
  ])('%s, asked for %s:%i: %s', (entry, host, port, remedy) => {
    expect(warningsOf(listing([entry]), [[host, port]])).toEqual([expect.stringContaining(remedy)])
  })

  test('is named at the level monitor, which lets it pass', () => {
    const snapshot = listing(['example.com'], { enforcementLevel: 'monitor' })
    expect(warningsOf(snapshot, [['example.com', 8443]])).toHaveLength(1)
  })

  test.each<[string, Snapshot, string, number]>([
    ['the port is covered', listing(['example.com']), 'example.com', 443],
    ['another entry covers it', listing(['example.com', 'example.com:8443']), 'example.com', 8443],
    ['a wildcard covers it', listing(['a.example.com', '*.example.com:8443']), 'a.example.com', 8443],
    ['no entry lists the host', listing(['example.com']), 'other.example', 8443],
    ['the host only ends like an entry', listing(['*.example.com']), 'evilexample.com', 8443],
    [
      'hosts without connector pass',
      listing(['example.com'], { egress: { allowedHosts: ['example.com'], unmatchedHosts: 'tunnel' } }),
      'example.com',
      8443,
    ],
    [
      'egress.tcp lists it',
      listing([], {
        egress: {
          allowedHosts: ['example.com'],
          tcp: [{ host: 'example.com', port: 5432, allowPrivateAddresses: false }],
        },
      }),
      'example.com',
      5432,
    ],
  ])('is not named when %s', (_when, snapshot, host, port) => {
    expect(warningsOf(snapshot, [[host, port]])).toEqual([])
  })

  test.each<[string, Snapshot]>([
    ['the port is listed', listing(['example.com', 'example.com:8443'])],
    ['the entry is gone', listing([])],
  ])('is named no longer once %s', (_when, now) => {
    expect(warningsOf(listing(['example.com']), [['example.com', 8443]], now)).toEqual([])
  })

  test('is listed among at most 32; a last sentence says that there are more', () => {
    const snapshot = listing(['example.com'])
    const many = Array.from({ length: 200 }, (_, index) => ['example.com', 1_000 + index] as const)
    const warnings = warningsOf(snapshot, many)
    expect(warnings).toHaveLength(33)
    expect(warnings.at(-1)).toMatch(/requested hosts of egress.allowedHosts at ports/)
    expect(warningsOf(snapshot, many.slice(0, 32))).toHaveLength(32)
    expect(warningsOf(snapshot, many, listing([]))).toEqual([])
  })

  test('is removed once an entry covers it', () => {
    const ports = createUnlistedPorts()
    const before = listing(['example.com'])
    for (let port = 1_000; port < 1_100; port++) ports.note(exchangeOf(before, 'example.com', port))
    const after = listing(['example.org'])
    expect(ports.warnings(after)).toEqual([])
    ports.note(exchangeOf(after, 'example.org', 22))
    expect(ports.warnings(after)).toEqual([expect.stringContaining('example.org:22')])
  })
})
