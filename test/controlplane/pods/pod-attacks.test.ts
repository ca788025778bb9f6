import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPod } from './fake-token-review.ts'
import { OPERATOR_TOKEN, type PodWorld, podIdentity, type Sidecar, startPodWorld } from './pod-world.ts'

/** The victim may use payments at `team/gateway`; the thief holds the token of `low`, which may use nothing. */
let world: PodWorld
let victim: Sidecar
let victimPod: TestPod
let lowPod: TestPod
let low: string
beforeAll(async () => {
  world = await startPodWorld()
  for (const name of ['gateway', 'lax']) await world.apply('Gateway', 'team', name, {})
  await world.apply('Gateway', 'team', 'lax', { enforcementLevel: 'monitor' })
  await world.apply('Gateway', 'other', 'gateway', {})
  await world.apply('Connector', 'team', 'pay', { type: 'payments' }, 'secret-of-payments')
  await world.apply('Permission', 'team', 'pay', {
    ...{ gatewayRefs: [{ name: 'gateway' }], agents: ['high'] },
    rules: [{ connectorType: 'payments', actionPattern: 'payments.*', decision: 'allow' }],
  })
  victimPod = world.pod({ name: 'high-0', serviceAccount: 'default' })
  victim = await world.sidecar(victimPod, { agent: 'team/high' })
  await eventually('the victim has its rules', () => victim.snapshot())
  lowPod = world.pod({ name: 'low-0', serviceAccount: 'default' })
  await world.report({ pod: lowPod, agent: 'team/low' })
  low = world.kube.tokenOf(lowPod)
})
afterAll(() => world?.[Symbol.asyncDispose]())

const operator = (path: string, body: unknown, method = 'POST') =>
  world.plane.call(method, path, body, { authorization: `Bearer ${OPERATOR_TOKEN}` })
const emptyRecords = (token: string, headers: Record<string, string> = {}) =>
  world.call(token, 'POST', SYNC_PATHS.records, { records: [] }, headers)

/** Everything that a token is sent of the configuration, as one text. */
async function sectionsOf(token: string, headers: Record<string, string> = {}): Promise<string> {
  const abort = new AbortController()
  const all = { authorization: `Bearer ${token}`, 'x-process-id': `proc_${randomUUID()}`, ...headers }
  const answer = await fetch(world.plane.url + SYNC_PATHS.stream, { headers: all, signal: abort.signal })
  if (answer.status !== 200) return `${answer.status} ${await answer.text()}`
  let text = ''
  try {
    for await (const chunk of answer.body ?? []) {
      text += Buffer.from(chunk).toString()
      if (text.includes('"sections"') && text.endsWith('\n')) break
    }
  } finally {
    abort.abort()
  }
  const manifest = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; sections?: Record<string, string> })
    .find(({ type }) => type === 'sections')
  const parts = Object.entries(manifest?.sections ?? {}).map(
    async ([name, hash]) =>
      (await world.call(token, 'GET', `${SYNC_PATHS.sections}/${name}?hash=${hash}`, undefined, all)).text,
  )
  return text + (await Promise.all(parts)).join('')
}

describe('a stolen token identifies its own pod only, whatever else the caller claims', () => {
  const names = {
    gateway: ['team/lax', 'other/gateway', 'team/none', '', 'x'.repeat(400)],
    agent: ['team/high', 'team/fresh', 'other/bot', '', '../high'],
    pod: ['UID-OF-VICTIM', randomUUID(), '', '*'],
  }
  const table = Object.entries(names).flatMap(([what, values]) =>
    values.map((value) => [`x-chaperone-${what}`, value] as const),
  )
  test.each(table)('%s: %s', async (header, value) => {
    const sent = value === 'UID-OF-VICTIM' ? victimPod.uid : value
    const text = await sectionsOf(low, { [header]: sent })
    expect(text).toContain('"name":"team/low"')
    expect(text).toContain('"name":"team/gateway"')
    expect(text).not.toContain('secret-of-')
  })

  test('all headers of the victim at once', async () => {
    const headers = {
      'x-chaperone-gateway': 'team/gateway',
      'x-chaperone-agent': 'team/high',
      'x-chaperone-pod': victimPod.uid,
    }
    expect(await sectionsOf(low, headers)).not.toContain('secret-of-')
    const hold = await world.call(low, 'POST', SYNC_PATHS.slots, SLOTS, headers)
    expect([hold.status, hold.text]).toEqual([403, expect.stringContaining('serves agent team/low')])
  })

  test('no agent is registered, moved or bound by what a caller says', async () => {
    const before = await world.sql('select name, gateway_id from agents order by name')
    for (const agent of ['team/brand-new', 'team/high'])
      await emptyRecords(low, { 'x-chaperone-agent': agent, 'x-chaperone-gateway': 'team/lax' })
    expect(await world.sql('select name, gateway_id from agents order by name')).toEqual(before)
  })
})

describe('the token of a pod that the operator has not reported', () => {
  test('is answered 503 with Retry-After, is refused with 403 after 30 s, and is admitted once the pod is reported', async () => {
    const pod = world.pod({ name: 'late-0' })
    const token = world.kube.tokenOf(pod)
    const first = await emptyRecords(token)
    expect([first.status, Number(first.headers.get('retry-after'))]).toEqual([503, expect.any(Number)])
    expect(Number(first.headers.get('retry-after'))).toBeLessThanOrEqual(30)
    await world.sql(
      `update unknown_pods set first_seen_at = first_seen_at - interval '31 seconds' where pod_uid = '${pod.uid}'`,
    )
    const second = await emptyRecords(token)
    expect([second.status, second.text]).toEqual([403, expect.stringContaining('late-0')])
    expect(await sectionsOf(token)).toMatch(/^403 /)
    const state = await operator('/api/operator/state', undefined, 'GET')
    expect(state.body['refused_pods']).toContainEqual({ podUid: pod.uid, namespace: 'team', name: 'late-0' })
    await world.report({ pod, agent: 'team/late' })
    expect((await emptyRecords(token)).status).toBe(200)
    expect((await operator('/api/operator/state', undefined, 'GET')).body['refused_pods']).toEqual([])
  })

  test.each([
    ['one that was never injected', {}],
    ['one of a namespace without a Gateway', { namespace: 'nowhere' }],
    ['one with the name of the victim', { name: 'high-0', serviceAccount: 'default' }],
  ])('%s gets no rules and registers nothing', async (_what, changes) => {
    const agents = await world.sql('select count(*) from agents')
    const token = world.kube.tokenOf(world.pod(changes))
    expect(await sectionsOf(token)).toMatch(/^503 /)
    expect(await sectionsOf(token, { 'x-chaperone-pod': victimPod.uid })).toMatch(/^503 /)
    expect(await world.sql('select count(*) from agents')).toEqual(agents)
  })
})

describe('what the operator said of a pod', () => {
  test.each([
    ['another agent', { agent: 'team/high' }],
    ['another Gateway', { gateway: 'team/lax' }],
    ['both', { agent: 'team/high', gateway: 'team/lax' }],
  ])('stays: %s that a tenant writes on its pod later changes nothing', async (_what, changes) => {
    await world.report({ pod: lowPod, agent: 'team/low', ...changes })
    const text = await sectionsOf(low)
    expect(text).toContain('"name":"team/low"')
    expect(text).not.toContain('secret-of-')
  })

  test.each([
    ['an agent of another namespace', { agent: 'other/bot' }],
    ['a Gateway that does not admit its namespace', { gateway: 'other/gateway' }],
    ['a Gateway that is not there', { gateway: 'team/none' }],
    ['an agent of another ServiceAccount', { agent: 'team/high' }],
  ])('does not give it %s', async (_what, changes) => {
    const pod = world.pod({ serviceAccount: 'tenant' })
    const answer = await operator('/api/operator/pods', { pods: [podIdentity({ pod, ...changes })] })
    if (answer.status === 200) expect(await sectionsOf(world.kube.tokenOf(pod))).toMatch(/^403 /)
    else expect(answer.status).toBe(400)
  })

  test('names the pod that the cluster vouches for: same UID, other pod is refused', async () => {
    const pod = world.pod({ name: 'real-0' })
    await world.report({ pod: { ...pod, name: 'forged-0' }, agent: 'team/real' })
    expect((await emptyRecords(world.kube.tokenOf(pod))).status).toBe(403)
  })

  test.each([
    ['a sidecar', () => low],
    ['nobody', () => 'x'],
    [
      'another ServiceAccount of the operator’s namespace',
      () => world.kube.tokenOf(world.pod({ namespace: 'chaperone-system', serviceAccount: 'default' })),
    ],
  ])('is not said by %s', async (_what, token) => {
    const pod = world.pod()
    const headers = { authorization: `Bearer ${token()}` }
    for (const [method, body] of [
      ['POST', { pods: [podIdentity({ pod })] }],
      ['GET', undefined],
    ] as const)
      expect((await world.plane.call(method, '/api/operator/pods', body, headers)).status).toBe(401)
    expect(await world.sql(`select 1 from pod_identities where pod_uid = '${pod.uid}'`)).toEqual([])
  })

  test.each([
    ['an empty UID', { podUid: '' }],
    ['a list as agent', { agent: ['team/high'] }],
    ['no answer to whether it is gone', { deleted: 'no' }],
    ['an agent without namespace', { agent: 'high' }],
  ])('is refused as a whole with %s', async (_what, changes) => {
    const good = world.pod()
    const bad = { ...podIdentity({ pod: world.pod() }), ...changes }
    const answer = await operator('/api/operator/pods', { pods: [podIdentity({ pod: good }), bad] })
    expect(answer.status).toBe(400)
    expect(await world.sql(`select 1 from pod_identities where pod_uid = '${good.uid}'`)).toEqual([])
  })
})

const ended = (sidecar: Sidecar) =>
  eventually('the session ended', async () => {
    const rows = await world.sql(
      `select 1 from gateway_processes where process_id = '${sidecar.processId}' and disconnected_at is null`,
    )
    return rows.length === 0 || null
  })

describe('the token of a deleted pod', () => {
  const connected = (sidecar: Sidecar) =>
    eventually('a session', async () => {
      const state = await operator('/api/operator/state', undefined, 'GET')
      const processes = state.body['processes'] as Array<{ process_id: string }>
      return processes.some(({ process_id }) => process_id === sidecar.processId) || null
    })
  test('ends its session and every call with it at once, although the cluster still vouches for the token', async () => {
    const pod = world.pod({ name: 'gone-0', serviceAccount: 'gone' })
    await using sidecar = await world.sidecar(pod, { agent: 'team/gone' })
    await connected(sidecar)
    expect((await emptyRecords(sidecar.token)).status).toBe(200)
    await world.report({ pod, agent: 'team/gone', deleted: true })
    await ended(sidecar)
    for (const path of [SYNC_PATHS.records, SYNC_PATHS.certificate, SYNC_PATHS.holds, SYNC_PATHS.slots])
      expect((await world.call(sidecar.token, 'POST', path, {})).status).toBe(403)
    expect(await sectionsOf(sidecar.token)).toMatch(/^403 /)
    // Another token of the same pod, and a report from a watch that is behind.
    await world.report({ pod, agent: 'team/gone' })
    expect(await sectionsOf(world.kube.tokenOf(pod))).toMatch(/^403 /)
  })

  test('of a pod that was never reported is refused too', async () => {
    const pod = world.pod()
    await world.report({ pod, deleted: true })
    expect((await emptyRecords(world.kube.tokenOf(pod))).status).toBe(403)
  })

  test('says nothing about the next pod of the same name', async () => {
    const one = world.pod({ name: 'set-0', serviceAccount: 'set' })
    const two = { ...one, uid: randomUUID() }
    await world.report({ pod: one, agent: 'team/set', deleted: true }, { pod: two, agent: 'team/set' })
    expect((await emptyRecords(world.kube.tokenOf(one))).status).toBe(403)
    expect((await emptyRecords(world.kube.tokenOf(two))).status).toBe(200)
  })

  test('was never ended by the operator’s silence about it', async () => {
    const pod = world.pod({ serviceAccount: 'quiet' })
    await using sidecar = await world.sidecar(pod, { agent: 'team/quiet' })
    await connected(sidecar)
    await operator('/api/operator/pods', { pods: [] })
    await world.report({ pod: world.pod(), agent: 'team/other' })
    expect((await emptyRecords(sidecar.token)).status).toBe(200)
    const known = await operator('/api/operator/pods', undefined, 'GET')
    const { deleted: _deleted, ...report } = podIdentity({ pod, agent: 'team/quiet' })
    expect(known.body['pods']).toContainEqual({ ...report, sandbox: null, claim: null })
  })
})

describe('on every replica and after a restart', () => {
  const ask = async (plane: PodWorld['plane'], token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}`, 'x-process-id': `proc_${randomUUID()}` }
    return (await plane.call('POST', SYNC_PATHS.records, { records: [] }, headers)).status
  }

  test('pods are known, the waiting time of unknown ones is shared, and deletion ends cached identities', async () => {
    const second = await world.replica()
    const pod = world.pod({ serviceAccount: 'both', name: 'both-0' })
    const token = world.kube.tokenOf(pod)
    expect(await ask(world.plane, token)).toBe(503)
    await world.sql(
      `update unknown_pods set first_seen_at = first_seen_at - interval '31 seconds' where pod_uid = '${pod.uid}'`,
    )
    expect(await ask(second, token)).toBe(403)
    await world.report({ pod, agent: 'team/both' })
    expect([await ask(world.plane, token), await ask(second, token)]).toEqual([200, 200])
    await world.report({ pod, agent: 'team/both', deleted: true })
    for (const plane of [world.plane, second])
      await eventually('refused', async () => (await ask(plane, token)) === 403 || null)
    const third = await world.replica()
    expect(await ask(third, token)).toBe(403)
    expect(await ask(third, victim.token)).toBe(200)
  })

  test('a session ends on the replica of its stream, although the operator called another replica', async () => {
    const second = await world.replica()
    const pod = world.pod({ serviceAccount: 'far', name: 'far-0' })
    await world.report({ pod, agent: 'team/far' })
    const token = world.kube.tokenOf(pod)
    const answer = await fetch(second.url + SYNC_PATHS.stream, {
      headers: { authorization: `Bearer ${token}`, 'x-process-id': 'proc_far' },
    })
    expect(answer.status).toBe(200)
    const drained = answer.text().catch(() => 'cut')
    await world.report({ pod, agent: 'team/far', deleted: true })
    await drained
    expect(await ask(second, token)).toBe(403)
  })
})

describe('a token that was replaced', () => {
  test('is refused a minute after its pod presented a newer one; the newer one goes on', async () => {
    const pod = world.pod({ serviceAccount: 'rotated' })
    const [before, after] = [1_000_000, 1_003_000].map((iat) => world.kube.tokenOf(pod, undefined, { iat }))
    await world.report({ pod, agent: 'team/rotated' })
    expect((await emptyRecords(before ?? '')).status).toBe(200)
    expect((await emptyRecords(after ?? '')).status).toBe(200)
    // A stream has a review of its own; a request in flight during the rotation is not refused.
    expect(await sectionsOf(before ?? '')).toContain('"name":"team/rotated"')
    await world.sql(
      `update pod_identities set token_seen_at = token_seen_at - interval '61 seconds' where pod_uid = '${pod.uid}'`,
    )
    expect(await sectionsOf(before ?? '')).toMatch(/^403 /)
    expect((await emptyRecords(before ?? '')).status).toBe(403)
    expect(await sectionsOf(after ?? '')).toContain('"name":"team/rotated"')
  })
})

test('the API server is silent: sessions and cached calls go on, new tokens wait', async () => {
  const pod = world.pod({ serviceAccount: 'calm' })
  await using sidecar = await world.sidecar(pod, { agent: 'team/calm' })
  await eventually('rules', () => sidecar.snapshot())
  world.kube.status = 500
  try {
    expect((await emptyRecords(sidecar.token)).status).toBe(200)
    expect((await emptyRecords(world.kube.tokenOf(pod))).status).toBe(503)
  } finally {
    world.kube.status = null
  }
})

describe('an API server that cannot check a token has not rejected it', () => {
  test.each([
    'invalid bearer token, service account team/bot could not be retrieved: etcdserver: request timed out',
    'Post "https://10.96.0.9/authenticate": context deadline exceeded',
    'Post "https://10.96.0.9/authenticate": dial tcp 10.96.0.9:443: connect: connection refused',
    'etcdserver: leader changed',
    'the server is currently unable to handle the request: service unavailable',
    'unexpected EOF',
  ])('%s', async (error) => {
    world.kube.error = error
    const unknown = world.kube.tokenOf(world.pod())
    world.kube.delete(unknown)
    try {
      expect((await emptyRecords(unknown)).status).toBe(503)
      expect(await sectionsOf(unknown)).toMatch(/^503 /)
    } finally {
      world.kube.error = 'invalid bearer token'
    }
    expect((await emptyRecords(unknown)).status).toBe(401)
  })
})

describe('a namespace that is not admitted any more', () => {
  test('loses its sessions on every replica, and its cached calls, although the API server is silent', async () => {
    await world.apply('Gateway', 'other', 'lender', {
      allowedNamespaces: { agents: { from: 'Selector', names: ['friend'] } },
    })
    const names = { gateway: 'other/lender', agent: 'friend/bot' }
    const pod = world.pod({ namespace: 'friend' })
    await using sidecar = await world.sidecar(pod, names)
    await eventually('rules', () => sidecar.snapshot())
    await using home = await world.sidecar(world.pod({ namespace: 'other', name: 'home-0' }), {
      ...{ gateway: 'other/lender', agent: 'other/home' },
    })
    await eventually('rules', () => home.snapshot())
    const second = await world.replica()
    const far = world.pod({ namespace: 'friend', name: 'bot-2' })
    await world.report({ pod: far, ...names })
    const answer = await fetch(second.url + SYNC_PATHS.stream, {
      headers: { authorization: `Bearer ${world.kube.tokenOf(far)}`, 'x-process-id': 'proc_lent' },
    })
    const drained = answer.text().catch(() => 'cut')
    expect((await emptyRecords(sidecar.token)).status).toBe(200)
    world.kube.status = 500
    try {
      await world.apply('Gateway', 'other', 'lender', { allowedNamespaces: { agents: { from: 'Same' } } })
      await drained
      await ended(sidecar)
      await eventually(
        'calls are refused',
        async () => (await emptyRecords(sidecar.token)).status === 403 || null,
      )
      expect((await emptyRecords(home.token)).status).toBe(200)
    } finally {
      world.kube.status = null
    }
    expect(await sectionsOf(sidecar.token)).toMatch(/^403 /)
  })
})

test('a revoked agent’s sidecar is sent no credential any more', async () => {
  const pod = world.pod({ serviceAccount: 'spy' })
  await world.apply('Permission', 'team', 'spy', {
    ...{ gatewayRefs: [{ name: 'gateway' }], agents: ['spy'] },
    rules: [{ connectorType: 'payments', actionPattern: 'payments.*', decision: 'allow' }],
  })
  await world.report({ pod, agent: 'team/spy' })
  const token = world.kube.tokenOf(pod)
  expect(await sectionsOf(token)).toContain('secret-of-payments')
  await world.sql(`update agents set status = 'revoked' where name = 'team/spy'`)
  await world.apply('Gateway', 'team', 'gateway', { rateLimit: { requestsPerMinute: 99 } })
  await eventually(
    'the credential is gone',
    async () => !(await sectionsOf(token)).includes('secret-of-') || null,
  )
})

const SLOTS = { agent: 'team/high', per_minute: 60, want: 1, used: [] }

test('invented tokens cause few reviews, and known sidecars go on beside them', async () => {
  expect((await emptyRecords(low)).status).toBe(200)
  const startedAt = performance.now()
  const answers = new Map<string, readonly number[]>()
  for (let at = 0; at < 100; at++) {
    const invented = world.kube.tokenOf(world.pod())
    world.kube.delete(invented)
    const state = await world.plane.call('GET', '/api/operator/state', undefined, {
      authorization: `Bearer ${invented}`,
    })
    answers.set(invented, [(await emptyRecords(invented)).status, state.status])
  }
  const minutes = Math.ceil((performance.now() - startedAt) / 60_000)
  expect([...answers.values()].flat().every((status) => status === 401 || status === 503)).toBe(true)
  // Only reviews of invented tokens count. Each is the cause of an answer 401; an answer 503 needs no review.
  const reviewed = world.kube.asked.filter((token) => answers.has(token))
  const rejected = [...answers].filter(([, statuses]) => statuses.includes(401)).map(([token]) => token)
  expect([...new Set(reviewed)].sort()).toEqual(rejected.sort())
  expect(rejected.length).toBeLessThanOrEqual(21 * minutes)
  expect(rejected.length).toBeLessThan(answers.size)
  expect((await emptyRecords(low)).status).toBe(200)
  expect(await sectionsOf(low)).toContain('"name":"team/low"')
})
