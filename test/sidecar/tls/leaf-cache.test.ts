import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createLru } from '../../../sidecar/collections/lru.ts'
import {
  type CertificateAuthority,
  loadCertificateAuthority,
} from '../../../sidecar/tls/certificate-authority.ts'
import { createLeafCache } from '../../../sidecar/tls/leaf-cache.ts'
import { size } from '../../support/proof.ts'

const DAY_MS = 86_400_000

async function counted(
  nowMs: () => number = Date.now,
): Promise<CertificateAuthority & AsyncDisposable & { readonly minted: string[] }> {
  const path = await mkdtemp(join(tmpdir(), 'leaf-'))
  const files = { certFile: join(path, 'c'), keyFile: join(path, 'k'), bundleFile: join(path, 'b') }
  const ca = await loadCertificateAuthority(files, nowMs)
  const minted: string[] = []
  return {
    ...ca,
    minted,
    mint(host) {
      minted.push(host)
      return ca.mint(host)
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  }
}

/** Each is a signature: 1 ms of CPU time. */
const NAMES = size(1_500, 5_000)

describe('the cache of TLS identities', () => {
  it('mints a name once, whatever its case, and ahead of time when asked', async () => {
    await using ca = await counted()
    const cache = createLeafCache(ca, { max: 10 })
    cache.preMint(['a.example', 'b.example'])
    expect(cache.contextFor('A.Example')).toBe(cache.contextFor('a.example'))
    cache.contextFor('b.example')
    expect(ca.minted).toEqual(['a.example', 'b.example'])
  })

  it('evicts the least recently used name', async () => {
    await using ca = await counted()
    const cache = createLeafCache(ca, { max: 2 })
    for (const host of ['a.example', 'b.example', 'a.example', 'c.example', 'a.example', 'b.example']) {
      cache.contextFor(host)
    }
    expect(ca.minted).toEqual(['a.example', 'b.example', 'c.example', 'b.example'])
  })

  it('keeps the certificate of a name whose context was evicted', async () => {
    await using ca = await counted()
    const cache = createLeafCache(ca, { max: 1_000 })
    const hosts = Array.from({ length: 300 }, (_, i) => `h${i}.example`)
    cache.preMint(hosts)
    cache.preMint(hosts)
    expect(ca.minted).toHaveLength(300)
  })

  it('replaces a certificate while it still has a day', async () => {
    let now = Date.now()
    await using ca = await counted(() => now)
    const cache = createLeafCache(ca, { max: 10, nowMs: () => now })
    const first = cache.contextFor('a.example')
    now += 6 * DAY_MS - 60_000
    expect(cache.contextFor('a.example')).toBe(first)
    now += 120_000
    expect(cache.contextFor('a.example')).not.toBe(first)
    expect(ca.minted).toHaveLength(2)
  })

  it('shows new identities after it was cleared, and cuts no connection that has an old one', async () => {
    await using ca = await counted()
    const cache = createLeafCache(ca, { max: 10 })
    const server = createServer(
      { SNICallback: (name, done) => done(null, cache.contextFor(name)) },
      (socket) => socket.pipe(socket),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const options = { host: '127.0.0.1', port, servername: 'a.example', ca: ca.caPem }
    const live = connect(options)
    const echo = async (text: string): Promise<string> => {
      live.write(text)
      return String((await once(live, 'data'))[0])
    }
    expect(await echo('before')).toBe('before')
    cache.clear()
    const next = connect(options)
    await once(next, 'secureConnect')
    expect(ca.minted).toEqual(['a.example', 'a.example'])
    expect(await echo('after')).toBe('after')
    expect(next.getPeerCertificate().serialNumber).not.toBe(live.getPeerCertificate().serialNumber)
    for (const socket of [live, next]) socket.destroy()
    server.close()
  })

  it('refuses what is neither a host name nor an address', async () => {
    await using ca = await counted()
    const cache = createLeafCache(ca, { max: 10 })
    for (const host of [
      '',
      'a b',
      'a\0.example',
      '-',
      '*.example',
      'a..b',
      `${'a'.repeat(64)}.example`,
      'x'.repeat(300),
      'é.example',
    ]) {
      expect(() => cache.contextFor(host), host).toThrow(RangeError)
    }
    expect(ca.minted).toEqual([])
  })

  it(`costs at most 10 KiB a name at ${NAMES} names, and no more for further ones`, {
    timeout: 60_000,
  }, async () => {
    await using ca = await counted()
    const cache = createLeafCache(ca, { max: NAMES })
    const mint = async (prefix: string, count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        cache.contextFor(`${prefix}${i}.example`)
        if (i % 50 === 0) await new Promise(setImmediate)
      }
    }
    await mint('warm', 300)
    const before = held()
    await mint('a', NAMES)
    expect((held() - before) / 1024 / NAMES).toBeLessThan(10)
  })
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes of the process without its garbage, which depends on what ran before. */
function held(): number {
  collect()
  return process.memoryUsage().rss
}

describe('an LRU', () => {
  it('reports every evicted or replaced value once', () => {
    const left: number[] = []
    const lru = createLru<number>(2, (value) => left.push(value))
    lru.set('a', 1)
    lru.set('b', 2)
    lru.get('a')
    lru.set('c', 3)
    lru.set('a', 4)
    expect(left).toEqual([2, 1])
    expect(lru.size).toBe(2)
  })
})
