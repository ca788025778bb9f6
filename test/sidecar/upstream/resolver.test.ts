import { describe, expect, it } from 'vitest'
import { createResolver } from '../../../sidecar/upstream/resolver.ts'
import { type DnsReply, type DnsServerOptions, startDnsServer } from '../../support/dns-server.ts'

const NOW = () => 0

async function world(
  answers: Readonly<Record<string, DnsReply>>,
  options: DnsServerOptions & { readonly monotonicMs?: () => number } = {},
) {
  const server = await startDnsServer(({ name, type }) => answers[`${name} ${type}`] ?? 'missing', options)
  const settings = { servers: [server.address], clusterDomain: 'cluster.test' }
  return { server, resolve: createResolver(settings, options.monotonicMs ?? NOW) }
}

describe('the resolver of a sidecar', () => {
  it('queries the servers of the installation, and returns IPv4 addresses before those of IPv6', async () => {
    const { server, resolve } = await world({
      'api.example.test A': ['192.0.2.1', '192.0.2.2'],
      'api.example.test AAAA': ['2001:db8::1'],
    })
    await using _ = server
    expect(await resolve('api.example.test')).toEqual([
      { address: '192.0.2.1', family: 4 },
      { address: '192.0.2.2', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ])
  })

  it('queries the servers also for a name of the hosts file', async () => {
    const { server, resolve } = await world({ 'localhost A': ['192.0.2.7'] })
    await using _ = server
    expect(await resolve('localhost')).toEqual([{ address: '192.0.2.7', family: 4 }])
  })

  it('queries a name once and unchanged, without a search domain', async () => {
    const { server, resolve } = await world({})
    await using _ = server
    await expect(resolve('api')).rejects.toMatchObject({ code: 'ENOTFOUND' })
    expect(new Set(server.questions.map(({ name }) => name))).toEqual(new Set(['api']))
  })

  it('completes the name of a Service with the domain of the cluster', async () => {
    const { server, resolve } = await world({ 'db.team.svc.cluster.test A': ['192.0.2.3'] })
    await using _ = server
    expect(await resolve('db.team.svc')).toEqual([{ address: '192.0.2.3', family: 4 }])
  })

  it('repeats a truncated answer over TCP', async () => {
    const { server, resolve } = await world({ 'big.test A': ['192.0.2.4'] }, { truncates: true })
    await using _ = server
    expect(await resolve('big.test')).toEqual([{ address: '192.0.2.4', family: 4 }])
    expect(server.questions.some(({ transport }) => transport === 'tcp')).toBe(true)
  })

  it('queries the second server when the first one does not respond', async () => {
    await using silent = await startDnsServer(() => 'silent')
    await using server = await startDnsServer(({ type }) => (type === 'A' ? ['192.0.2.5'] : 'missing'))
    const settings = { servers: [silent.address, server.address], clusterDomain: 'cluster.test' }
    expect(await createResolver(settings, NOW)('api.test')).toEqual([{ address: '192.0.2.5', family: 4 }])
    expect(silent.questions.length).toBeGreaterThan(0)
  })

  it('uses an answer no longer than its TTL, and no longer than 30 s', async () => {
    let nowMs = 0
    const monotonicMs = () => nowMs
    for (const [ttl, ageMs] of [
      [5, 5_000],
      [3_600, 30_000],
      [0, 0],
    ] as const) {
      nowMs = 0
      const addresses = ['192.0.2.8']
      const { server, resolve } = await world({ 'a.test A': addresses }, { ttl, monotonicMs })
      await using _ = server
      await resolve('a.test')
      addresses[0] = '192.0.2.9'
      nowMs = ageMs - 1
      if (ageMs > 0) expect(await resolve('a.test')).toEqual([{ address: '192.0.2.8', family: 4 }])
      nowMs = ageMs
      expect(await resolve('a.test')).toEqual([{ address: '192.0.2.9', family: 4 }])
    }
  })
})
