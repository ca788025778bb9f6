import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { GATEWAY_FLAGS } from '../../../core/gateway-flags.ts'
import { createLru } from '../../../sidecar/collections/lru.ts'
import {
  type CertificateAuthority,
  loadCertificateAuthority,
} from '../../../sidecar/tls/certificate-authority.ts'
import { createLeafCache } from '../../../sidecar/tls/leaf-cache.ts'
import { size } from '../../support/proof.ts'

const run = promisify(execFile)
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

  it(`costs at most 10 KiB a name at ${NAMES} names, and no more for further ones`, async () => {
    const path = await mkdtemp(join(tmpdir(), 'leaf-'))
    try {
      const flags = [...GATEWAY_FLAGS, '--input-type=module']
      const { stdout } = await run(process.execPath, [...flags, '-e', MEMORY_PROGRAM, path, String(NAMES)])
      expect(stdout).toMatch(/^-?\d/)
      expect(Number(stdout)).toBeLessThan(10)
    } finally {
      await rm(path, { recursive: true })
    }
  })
})

const at = (file: string) => JSON.stringify(new URL(`../../../sidecar/tls/${file}`, import.meta.url).href)
/**
 * Prints the resident KiB a name, as a process of its own with the flags of a gateway: a collection of the heap of a test
 * worker takes many times as long. V8 returns pages on other threads after a collection, later on a busy machine: therefore
 * the smallest of several values, until 10 in a row are no smaller.
 */
const MEMORY_PROGRAM = `
  import { join } from 'node:path'
  import { loadCertificateAuthority } from ${at('certificate-authority.ts')}
  import { createLeafCache } from ${at('leaf-cache.ts')}
  const [path, count] = process.argv.slice(1)
  const max = Number(count)
  const files = { certFile: join(path, 'c'), keyFile: join(path, 'k'), bundleFile: join(path, 'b') }
  const cache = createLeafCache(await loadCertificateAuthority(files, Date.now), { max })
  const mint = async (prefix, count) => {
    for (let i = 0; i < count; i++) {
      cache.contextFor(prefix + i + '.example')
      if (i % 50 === 0) await new Promise(setImmediate)
    }
  }
  const held = async () => {
    let least = Number.POSITIVE_INFINITY
    for (let equal = 0; equal < 10; equal++) {
      gc()
      await new Promise((resolve) => setTimeout(resolve, 20))
      const { rss } = process.memoryUsage()
      if (rss < least) [least, equal] = [rss, 0]
    }
    return least
  }
  await mint('warm', 300)
  const before = await held()
  await mint('a', max)
  console.log(((await held()) - before) / 1024 / max)
`

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
