import { randomBytes, X509Certificate } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createGatewayCa } from '../../../controlplane/crypto/gateway-ca.ts'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { isPermitted, namesPermittedBy } from '../../../core/x509/name-constraints.ts'
import { createPodCa, type PodCa } from '../../../sidecar/tls/pod-ca.ts'
import { eventually } from '../../support/eventually.ts'

const ca = createGatewayCa(createKeyring(randomBytes(32)), Date.now())
const log = { info() {}, warn() {} }
/** Monotonic clock that fake timers do not replace. */
const realNowMs = performance.now.bind(performance)
let dir = ''
let pod: PodCa
/** What the control plane permits; null: it does not answer. */
let hosts: readonly string[] | null
let issued = 0
let signed = 0
/** How far the clock of the pod is ahead. */
let aheadMs = 0
/** For how long the control plane signs, in milliseconds. */
let signingMs = 0
/** Random number of the pod: the latest request is the one with the highest number. */
let random = 0
/** For how long certificates are valid from now on. */
let lifeMs = 86_400_000

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'pod-ca-'))
  hosts = ['api.example']
  issued = 0
  signed = 0
  aheadMs = 0
  lifeMs = 86_400_000
  random = 0
  signingMs = 0
  pod = create()
})
afterEach(async () => {
  vi.useRealTimers()
  pod.close()
  await rm(dir, { recursive: true })
})

function create(): PodCa {
  return createPodCa({
    name: 'team/bot',
    async sign(request) {
      if (hosts === null) throw new Error('no control plane')
      signed++
      if (signingMs > 0) await new Promise((resolve) => setTimeout(resolve, signingMs))
      const terms = { subject: 'team/bot', hosts, nowMs: Date.now() + aheadMs - 86_400_000 + lifeMs }
      return ca.issue(request, terms).chain
    },
    own: {
      certFile: join(dir, 'ca.crt'),
      keyFile: join(dir, 'ca.key'),
      bundleFile: join(dir, 'bundle.crt'),
    },
    onIssued: () => issued++,
    random: () => random,
    nowMs: () => Date.now() + aheadMs,
    checkMs: 5,
    log,
  })
}

/** Back-offs end when the clock is advanced, and take no time. */
function useFakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
}

/** Advances the fake timers by `stepMs` milliseconds until the condition is met. */
async function advanceUntil(isMet: () => boolean, stepMs: number): Promise<void> {
  for (const deadline = realNowMs() + 60_000; !isMet(); await turn()) {
    if (realNowMs() > deadline) throw new Error('the condition was not met within 60 s')
    await vi.advanceTimersByTimeAsync(stepMs)
  }
}

function issuerOf(host: string): 'control plane' | 'pod' {
  const [leaf = '', intermediate] =
    pod.ca.mint(host).cert.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []
  if (intermediate === undefined) return 'pod'
  const above = new X509Certificate(intermediate)
  expect(new X509Certificate(leaf).verify(above.publicKey)).toBe(true)
  // A leaf outside of the constraints would be refused by every client.
  expect(isPermitted(namesPermittedBy(above.raw) ?? [], host)).toBe(true)
  return 'control plane'
}

test('terminated hosts are below the control plane, all other names below a root that only this pod trusts', async () => {
  const [shared, own, ...more] = await pod.ready(1_000)
  expect(more).toEqual([])
  expect(shared).toBe(ca.caPem)
  expect(own).not.toBe(shared)
  expect(issuerOf('api.example')).toBe('control plane')
  for (const host of ['unknown.example', 'xapi.example', '192.0.2.1', '::1', 'a_b.example'])
    expect(issuerOf(host)).toBe('pod')
})

test('the root of the pod is the same after a restart, and its key is readable for its owner only', async () => {
  const [, own] = await pod.ready(1_000)
  pod.close()
  pod = create()
  expect((await pod.ready(1_000))[1]).toBe(own)
})

/** Time in milliseconds within which a change of the hosts leads to a request. */
const REISSUE_MS = 5_000
const LATEST = 0.999_999

test('another set of hosts causes another certificate; the same set in another order does not', async () => {
  hosts = ['b.example', 'a.example']
  await pod.ready(1_000)
  useFakeTimers()
  random = LATEST
  pod.cover(['a.example', 'b.example'])
  await vi.advanceTimersByTimeAsync(REISSUE_MS)
  expect(signed).toBe(1)
  hosts = ['a.example', 'new.example']
  pod.cover(['a.example', 'new.example'])
  // The agent can reach the new host before.
  expect(issuerOf('new.example')).toBe('pod')
  await vi.advanceTimersByTimeAsync(REISSUE_MS)
  expect(signed).toBe(2)
  await advanceUntil(() => issued === 2, 0)
  expect(issuerOf('new.example')).toBe('control plane')
  expect(issuerOf('b.example')).toBe('pod')
})

test.each([0, LATEST])(
  'a replica that lags by up to a minute delays the new certificate by less than 5 s (random number %d)',
  async (given) => {
    await pod.ready(1_000)
    useFakeTimers()
    random = given
    pod.cover(['api.example', 'new.example'])
    for (let seconds = 0; seconds < 60; seconds += REISSUE_MS / 1_000) {
      const before = signed
      await vi.advanceTimersByTimeAsync(REISSUE_MS)
      await advanceUntil(() => vi.getTimerCount() > 0, 0)
      expect(signed, `${seconds} s after the change`).toBeGreaterThan(before)
    }
    hosts = ['api.example', 'new.example']
    await vi.advanceTimersByTimeAsync(REISSUE_MS)
    await advanceUntil(() => issuerOf('new.example') === 'control plane', 0)
  },
)

test('requests to a replica that lags and signs slowly start less than 5 s apart for a minute, and then less often', async () => {
  await pod.ready(1_000)
  useFakeTimers()
  random = LATEST
  signingMs = 3_000
  const startsMs: number[] = []
  const beganMs = performance.now()
  pod.cover(['api.example', 'new.example'])
  await advanceUntil(() => {
    if (signed - 1 > startsMs.length) startsMs.push(performance.now() - beganMs)
    return performance.now() - beganMs > 150_000
  }, 100)
  const gapsMs = startsMs.map((startMs, at) => startMs - (startsMs[at - 1] ?? 0))
  const isEarly = startsMs.map((startMs) => startMs < 60_000)
  expect(Math.max(...gapsMs.filter((_gap, at) => isEarly[at]))).toBeLessThan(REISSUE_MS)
  expect(Math.max(...gapsMs)).toBeGreaterThan(20_000)
})

test('a control plane whose certificates differ for another reason is asked less and less often', async () => {
  await pod.ready(1_000)
  useFakeTimers()
  pod.cover(['api.example', 'new.example'])
  const requestsIn = async (minutes: number) => {
    const before = signed
    for (let second = 0; second < 60 * minutes; second++) {
      await vi.advanceTimersByTimeAsync(1_000)
      await advanceUntil(() => vi.getTimerCount() > 0, 0)
    }
    return signed - before
  }
  expect(await requestsIn(1)).toBeLessThan(30)
  await requestsIn(20)
  expect(await requestsIn(30)).toBeLessThanOrEqual(4)
})

test('a replica that lags is asked again until it permits the hosts', async () => {
  await pod.ready(1_000)
  useFakeTimers()
  pod.cover(['api.example', 'new.example'])
  await advanceUntil(() => signed >= 3, 500)
  expect(issuerOf('new.example')).toBe('pod')
  hosts = ['api.example', 'new.example']
  await advanceUntil(() => issuerOf('new.example') === 'control plane', 500)
  const last = signed
  pod.cover(['api.example', 'new.example'])
  expect(signed).toBe(last)
})

test('a change during the back-off of another one is requested at once', async () => {
  await pod.ready(1_000)
  useFakeTimers()
  pod.cover(['one.example'])
  await advanceUntil(() => signed >= 4, 500)
  await advanceUntil(() => vi.getTimerCount() > 0, 0)
  hosts = ['two.example']
  pod.cover(['two.example'])
  // The clock stands still, and the present back-off is 3 s.
  await advanceUntil(() => issuerOf('two.example') === 'control plane', 0)
})

test('without a control plane every name is below the root of the pod, also once it is back', async () => {
  hosts = null
  expect(await pod.ready(0)).toHaveLength(1)
  pod.cover(['api.example'])
  expect(issuerOf('api.example')).toBe('pod')
  hosts = ['api.example']
  expect(issued).toBe(0)
})

test.each([
  ['none.invalid'],
  ['255.255.255.255'],
  ['x.none.invalid', 'invalid'],
  [
    'none.invalid',
    '255.255.255.255',
    'api.example',
    '0.0.0.0',
    '::ffff:255.255.255.255',
    'a_b.example',
    '1.2.3',
  ],
])('hosts that are no names of a constraint cause one certificate: %s', async (...wanted) => {
  hosts = wanted
  await pod.ready(1_000)
  pod.cover(wanted)
  await eventually('issued', () => issued >= 1 || null)
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(signed).toBe(1)
  // Two of them have names: they are shown below the one root or the other, as clients accept it.
  for (const host of wanted) issuerOf(host)
})

test('an intermediate that has expired signs nothing: all names are below the root of the pod', async () => {
  await pod.ready(1_000)
  hosts = null
  expect(issuerOf('api.example')).toBe('control plane')
  aheadMs = 86_400_000 - 60_000
  expect(issuerOf('api.example')).toBe('control plane')
  aheadMs = 86_400_000 + 60_000
  expect(issuerOf('api.example')).toBe('pod')
})

test('an intermediate is renewed by the clock, also after the node was suspended and the control plane away', async () => {
  await pod.ready(1_000)
  const permitted = 'api.example'
  for (const day of [1, 2, 3]) {
    const before = signed
    aheadMs += 15 * 3_600_000
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(signed, `day ${day}: a third of the lifetime is left`).toBe(before)
    aheadMs += 2 * 3_600_000
    await eventually('renewed', () => issued > day || null)
    expect(issuerOf(permitted)).toBe('control plane')
  }
  hosts = null
  aheadMs += 30 * 3_600_000
  expect(issuerOf(permitted)).toBe('pod')
  hosts = [permitted]
  await eventually('issued again', () => issuerOf(permitted) === 'control plane' || null)
})

test('a certificate that has expired already is not requested again at once', async () => {
  lifeMs = -1_000
  await pod.ready(1_000)
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(signed).toBe(1)
  expect(issuerOf('api.example')).toBe('pod')
})

test('a lost control plane revokes no permitted host', async () => {
  await pod.ready(1_000)
  hosts = null
  pod.cover(['api.example', 'new.example'])
  expect(issuerOf('api.example')).toBe('control plane')
  expect(issuerOf('new.example')).toBe('pod')
})
