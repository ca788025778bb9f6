import { X509Certificate } from 'node:crypto'
import { expect, it } from 'vitest'
import {
  createIssuedCertificates,
  type IssuedCertificate,
} from '../../../operator/webhook/issued-certificates.ts'
import {
  type CertificateAuthority,
  createCertificateAuthority,
  issueLeaf,
  type Leaf,
} from '../../../operator/webhook/leaf.ts'

const DAY_MS = 86_400_000
const START = Date.UTC(2027, 0, 1)
const HOST = 'chaperone-webhook.chaperone-system.svc'

function issuedBy(ca: CertificateAuthority, nowMs: number): IssuedCertificate {
  const { certPem, keyPem } = issueLeaf(ca, [HOST], nowMs)
  return { certPem, keyPem, caPem: ca.certPem }
}

/** The Secret that an issuer writes, and the webhook configuration that the operators write. */
function cluster(secret: IssuedCertificate | null) {
  const state = { secret, bundle: '', failures: [] as unknown[] }
  const clock = { now: START }
  const replica = async () => {
    const leaves: Leaf[] = []
    const certificates = await createIssuedCertificates({
      port: {
        readIssued: async () => state.secret,
        writeTrustBundle: async (bundle) => {
          state.bundle = bundle
        },
      },
      secret: 'chaperone-system/chaperone-webhook-tls',
      nowMs: () => clock.now,
      onLeaf: (leaf) => leaves.push(leaf),
      onFailure: (error) => state.failures.push(error),
      pauseMs: 1,
    })
    await certificates.publish()
    return { certificates, leaves, [Symbol.dispose]: () => certificates[Symbol.dispose]() }
  }
  return { state, clock, replica }
}

const isTrusted = ({ certPem }: Leaf, bundle: string) =>
  (bundle.match(/-----BEGIN[\s\S]*?-----END CERTIFICATE-----/g) ?? []).some((ca) =>
    new X509Certificate(certPem).verify(new X509Certificate(ca).publicKey),
  )

it('serves the certificate of the Secret and trusts its CA, also when the issuer is late', async () => {
  const { state, clock, replica } = cluster(null)
  setTimeout(() => {
    state.secret = issuedBy(createCertificateAuthority(START), clock.now)
  }, 20)
  using one = await replica()
  expect(one.certificates.leaf.certPem).toBe(state.secret?.certPem)
  expect(isTrusted(one.certificates.leaf, state.bundle)).toBe(true)
})

it('follows a renewed certificate', async () => {
  const ca = createCertificateAuthority(START)
  const { state, clock, replica } = cluster(issuedBy(ca, START))
  using one = await replica()
  await one.certificates.refresh()
  expect(one.leaves).toEqual([])
  clock.now = START + 5 * DAY_MS
  state.secret = issuedBy(ca, clock.now)
  await one.certificates.refresh()
  expect(one.leaves.map(({ certPem }) => certPem)).toEqual([state.secret.certPem])
  expect(one.certificates.leaf.notAfterMs).toBe(clock.now + 7 * DAY_MS)
})

it('trusts the leaves of all replicas while they change over to another CA', async () => {
  const { state, clock, replica } = cluster(issuedBy(createCertificateAuthority(START), START))
  using one = await replica()
  using two = await replica()
  const all = () => [one, two].map(({ certificates }) => isTrusted(certificates.leaf, state.bundle))
  clock.now = START + DAY_MS
  state.secret = issuedBy(createCertificateAuthority(clock.now), clock.now)
  await one.certificates.refresh()
  expect(one.certificates.leaf.certPem).not.toBe(two.certificates.leaf.certPem)
  expect(all()).toEqual([true, true])
  clock.now += 60_000
  await two.certificates.refresh()
  expect(all()).toEqual([true, true])
  expect(state.bundle.match(/BEGIN CERTIFICATE/g)).toHaveLength(2)
  clock.now += 11 * 60_000
  await one.certificates.refresh()
  await two.certificates.refresh()
  expect(state.bundle).toBe(state.secret.caPem)
  expect(all()).toEqual([true, true])
})

it('keeps the last certificate when the Secret is deleted, incomplete or inconsistent', async () => {
  const ca = createCertificateAuthority(START)
  const good = issuedBy(ca, START)
  const { state, replica } = cluster(good)
  using one = await replica()
  const other = issuedBy(ca, START)
  for (const [bad, message] of [
    [null, 'does not exist'],
    [{ ...good, caPem: '' }, 'lacks tls.crt, tls.key or ca.crt'],
    [{ ...good, keyPem: other.keyPem }, 'does not belong to its key'],
  ] as const) {
    state.secret = bad
    await expect(one.certificates.refresh()).rejects.toThrow(message)
    expect(one.certificates.leaf.certPem).toBe(good.certPem)
    expect(state.bundle).toBe(good.caPem)
  }
  expect(one.leaves).toEqual([])
})

it('rejects when no certificate is issued in time', async () => {
  await expect(cluster(null).replica()).rejects.toThrow('Check the Certificate chaperone-webhook')
})
