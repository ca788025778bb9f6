import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import { describe, expect, it } from 'vitest'
import {
  type CertificateAuthorities,
  planCertificateAuthorities,
} from '../../../operator/webhook/certificate-authorities.ts'
import { type CertificatePort, createCertificates } from '../../../operator/webhook/certificates.ts'
import { createCertificateAuthority, issueLeaf, type Leaf } from '../../../operator/webhook/leaf.ts'

const DAY_MS = 86_400_000
const START = Date.UTC(2027, 0, 1)
const HOST = 'chaperone-webhook.chaperone-system.svc'

/** A Secret and a webhook configuration that all replicas of a test share. */
function cluster() {
  let stored: { cas: CertificateAuthorities; resourceVersion: string } | null = null
  const state = { writes: 0, bundle: '', lostRaces: 0 }
  const port: CertificatePort = {
    readCertificateAuthorities: async () => stored,
    writeCertificateAuthorities: async (cas, resourceVersion) => {
      if ((stored?.resourceVersion ?? null) !== resourceVersion) {
        state.lostRaces++
        return false
      }
      stored = { cas, resourceVersion: String(++state.writes) }
      return true
    },
    writeTrustBundle: async (bundle) => {
      state.bundle = bundle
    },
  }
  return { port, state }
}

async function replica(port: CertificatePort, clock: { now: number }) {
  const leaves: Leaf[] = []
  const certificates = await createCertificates({
    port,
    hosts: [HOST, '127.0.0.1'],
    nowMs: () => clock.now,
    onLeaf: (leaf) => leaves.push(leaf),
    onFailure: (error) => {
      throw error
    },
  })
  await certificates.publish()
  return { certificates, leaves, [Symbol.dispose]: () => certificates[Symbol.dispose]() }
}

/** Whether a client that trusts this bundle and calls this name accepts the leaf. */
async function isTrusted(leaf: Leaf, ca: string, servername: string): Promise<boolean> {
  const server = createServer({ cert: leaf.certPem, key: leaf.keyPem }).listen(0, '127.0.0.1')
  server.on('tlsClientError', () => undefined)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1', ca, servername })
  const accepted = await new Promise<boolean>((resolve) => {
    socket.once('secureConnect', () => resolve(true))
    socket.once('error', () => resolve(false))
  })
  socket.destroy()
  server.closeAllConnections()
  await once(server.close(), 'close')
  return accepted
}

function signedBy(leaf: Leaf, caPem: string): boolean {
  return new X509Certificate(leaf.certPem).verify(new X509Certificate(caPem).publicKey)
}

describe('the certificates of the webhook', () => {
  it('are valid for a client that trusts the published CA, for the host names of the webhook only', async () => {
    const { port, state } = cluster()
    using one = await replica(port, { now: Date.now() })
    expect(await isTrusted(one.certificates.leaf, state.bundle, HOST)).toBe(true)
    expect(await isTrusted(one.certificates.leaf, state.bundle, 'kubernetes.default.svc')).toBe(false)
    expect(await isTrusted(one.certificates.leaf, createCertificateAuthority(Date.now()).certPem, HOST)).toBe(
      false,
    )
  })

  it('come from one CA even when replicas start together', async () => {
    const { port, state } = cluster()
    const clock = { now: Date.now() }
    const replicas = await Promise.all([1, 2, 3].map(() => replica(port, clock)))
    expect(state.writes).toBe(1)
    expect(state.lostRaces).toBe(2)
    for (const each of replicas) {
      expect(await isTrusted(each.certificates.leaf, state.bundle, HOST)).toBe(true)
      each[Symbol.dispose]()
    }
  })

  it('are renewed at two thirds of the lifetime of a leaf', async () => {
    const { port } = cluster()
    const clock = { now: START }
    using one = await replica(port, clock)
    clock.now = START + 4 * DAY_MS
    await one.certificates.refresh()
    expect(one.leaves).toEqual([])
    clock.now = START + 5 * DAY_MS
    await one.certificates.refresh()
    expect(one.leaves).toHaveLength(1)
    expect(one.certificates.leaf.notAfterMs).toBe(clock.now + 7 * DAY_MS)
  })

  it('rotate the CA at two thirds of its lifetime: it is trusted first, then used', async () => {
    const { port, state } = cluster()
    const clock = { now: START }
    using one = await replica(port, clock)
    using two = await replica(port, clock)
    const old = state.bundle
    clock.now = START + 244 * DAY_MS
    await one.certificates.refresh()
    await two.certificates.refresh()
    expect(state.writes).toBe(2)
    expect(state.bundle).toContain(old)
    expect(state.bundle.match(/BEGIN CERTIFICATE/g)).toHaveLength(2)
    // An API server that has not taken over the new bundle yet still accepts what is shown.
    expect(signedBy(one.certificates.leaf, old)).toBe(true)
    clock.now += 11 * 60_000
    await one.certificates.refresh()
    await two.certificates.refresh()
    expect(signedBy(one.certificates.leaf, old)).toBe(false)
    expect(signedBy(two.certificates.leaf, state.bundle.replace(old, ''))).toBe(true)
    clock.now = START + 366 * DAY_MS
    await one.certificates.refresh()
    expect(state.bundle).not.toContain(old)
    expect(state.writes).toBe(3)
  })

  it('get a new CA when the stored one has expired', () => {
    const stored = { current: createCertificateAuthority(START) }
    const plan = planCertificateAuthorities(stored, START + 366 * DAY_MS, () =>
      createCertificateAuthority(START + 366 * DAY_MS),
    )
    expect(plan.isChanged).toBe(true)
    expect(plan.bundlePem).not.toContain(stored.current.certPem)
    expect(plan.signing).toBe(plan.cas.current)
  })

  it('never outlive their CA', () => {
    const ca = createCertificateAuthority(START)
    const leaf = issueLeaf(ca, [HOST], START + 363 * DAY_MS)
    expect(leaf.notAfterMs).toBe(START + 365 * DAY_MS)
  })

  it('stop retrying when the Secret changes during every write', async () => {
    const { port } = cluster()
    const contested: CertificatePort = { ...port, writeCertificateAuthorities: async () => false }
    await expect(replica(contested, { now: START })).rejects.toThrow(
      'Another writer changed the Secret with the webhook CA',
    )
  })
})
