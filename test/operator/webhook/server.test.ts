import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { createGatewayWait } from '../../../operator/webhook/gateway-wait.ts'
import { createCertificateAuthority, issueLeaf } from '../../../operator/webhook/leaf.ts'
import { openWebhookServer, type WebhookDeps } from '../../../operator/webhook/server.ts'
import { gatewayLookup, INJECT_OPTIONS, NO_RUNTIMES, NO_SANDBOXES } from '../../support/golden-pods.ts'

const CA = createCertificateAuthority(Date.now())
const leaf = () => issueLeaf(CA, ['127.0.0.1'], Date.now())
const POD = {
  metadata: { name: 'agent', annotations: { 'chaperone.dev/gateway': 'main' } },
  spec: { containers: [{ name: 'agent', image: 'node:24' }] },
}

const PRIVILEGED = { 'pod-security.kubernetes.io/enforce': 'privileged' }

async function open(more: Partial<WebhookDeps> = {}) {
  const outcomes: string[] = []
  const failures: unknown[] = []
  const server = await openWebhookServer({
    gateways: gatewayLookup(),
    namespaceLabels: () => ({}),
    agentElsewhere: () => undefined,
    sandboxes: NO_SANDBOXES,
    runtimes: NO_RUNTIMES,
    settings: INJECT_OPTIONS,
    uids: { fresh: () => 1_950_000_000, isIssued: () => false },
    onRefused: () => undefined,
    host: '127.0.0.1',
    port: 0,
    leaf: leaf(),
    isReady: () => true,
    onReview: ({ webhook, outcome }) => outcomes.push(webhook === 'pods' ? outcome : `${webhook} ${outcome}`),
    onFailure: (error) => failures.push(error),
    ...more,
  })
  const ask = (path: string, body: unknown, method = 'POST', agent: Agent | false = false) =>
    new Promise<{ status: number; body: Answer; peer: string }>((resolve, reject) => {
      const asked = request(
        { port: server.port, host: '127.0.0.1', path, method, ca: CA.certPem, agent },
        async (response) => {
          const { serialNumber } = (response.socket as import('node:tls').TLSSocket).getPeerCertificate()
          resolve({
            status: response.statusCode ?? 0,
            body: JSON.parse(await text(response)) as Answer,
            peer: serialNumber,
          })
        },
      )
      asked.on('error', reject)
      asked.end(typeof body === 'string' ? body : JSON.stringify(body))
    })
  return { server, ask, outcomes, failures, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}
type Answer = {
  response?: { uid: string; allowed: boolean; patch?: string; status?: { code: number; message: string } }
  error?: string
}

function review(object: unknown, more: object = {}) {
  const resource = { group: '', version: 'v1', resource: 'pods' }
  const asked = { uid: 'r-1', resource, operation: 'CREATE', namespace: 'team', object, ...more }
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: asked }
}

describe('the webhook', () => {
  it.each(['baseline', 'restricted'])(
    'refuses a captured pod where PodSecurity is %s, with the ways out',
    async (level) => {
      const labels = { 'pod-security.kubernetes.io/enforce': level }
      await using hook = await open({ namespaceLabels: () => labels })
      const { response } = (await hook.ask('/pods/annotated', review(POD))).body
      expect(response?.allowed).toBe(false)
      expect(response?.status?.message).toContain(
        `metadata.namespace: the namespace team enforces PodSecurity ${level}`,
      )
      expect(response?.status?.message).toMatch(
        /enforce=privileged and chaperone\.dev\/inject=required.*interception: proxyEnv/,
      )
      await using cooperative = await open({
        namespaceLabels: () => labels,
        gateways: gatewayLookup({ interception: 'proxyEnv' }),
      })
      expect((await cooperative.ask('/pods/annotated', review(POD))).body.response?.allowed).toBe(true)
      await using privileged = await open({ namespaceLabels: () => PRIVILEGED })
      expect((await privileged.ask('/pods/annotated', review(POD))).body.response?.allowed).toBe(true)
    },
  )

  it('returns the uid of the request and a patch', async () => {
    await using it = await open()
    const { status, body } = await it.ask('/pods/annotated', review(POD))
    expect(status).toBe(200)
    expect(body.response).toMatchObject({ uid: 'r-1', allowed: true, patchType: 'JSONPatch' })
    const patch = JSON.parse(Buffer.from(body.response?.patch ?? '', 'base64').toString()) as {
      path: string
    }[]
    expect(patch.map(({ path }) => path)).toContain('/spec/initContainers')
    expect(it.outcomes).toEqual(['injected'])
  })

  describe('for a pod that was applied together with its Gateway', () => {
    const known = gatewayLookup()
    /** Knows the Gateway from the given look-up on. */
    const knownFrom = (first: number) => {
      const state = { lookups: 0 }
      const isKnown = () => ++state.lookups >= first
      const gateways: WebhookDeps['gateways'] = {
        gatewayOf: (namespace, name) => (isKnown() ? known.gatewayOf(namespace, name) : undefined),
        gatewaysIn: (namespace) => (isKnown() ? known.gatewaysIn(namespace) : []),
      }
      return { state, gateways }
    }

    it.each([
      ['named by its annotation', '/pods/annotated', POD],
      [
        'the only one of a namespace that requires one',
        '/pods/required',
        { ...POD, metadata: { name: 'agent' } },
      ],
    ])('governs the pod once the Gateway, %s, is cached', async (_what, path, pod) => {
      const refusals: string[] = []
      const { gateways, state } = knownFrom(4)
      await using it = await open({ gateways, onRefused: (_owner, message) => refusals.push(message) })
      const { body } = await it.ask(path, review(pod))
      expect(body.response).toMatchObject({ allowed: true, patchType: 'JSONPatch' })
      expect([it.outcomes, refusals]).toEqual([['injected'], []])
      expect(state.lookups).toBeGreaterThan(4)
    })

    it('refuses the pod, with one Event, when the Gateway is never cached', async () => {
      const refusals: string[] = []
      const { gateways } = knownFrom(Number.POSITIVE_INFINITY)
      const ownerReferences = [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'u', controller: true },
      ]
      const owned = { ...POD, metadata: { ...POD.metadata, ownerReferences } }
      await using it = await open({ gateways, onRefused: (_owner, message) => refusals.push(message) })
      const { body } = await it.ask('/pods/annotated', review(owned))
      expect(body.response).toMatchObject({ allowed: false, status: { code: 403 } })
      expect(refusals).toHaveLength(1)
    })

    it('does not wait for a pod without a Gateway, an update or another kind', async () => {
      const { gateways, state } = knownFrom(Number.POSITIVE_INFINITY)
      await using it = await open({ gateways })
      await it.ask('/pods/annotated', review({ ...POD, metadata: { name: 'agent' } }))
      await it.ask('/pods/annotated', review(POD, { operation: 'UPDATE' }))
      expect(state.lookups).toBe(0)
    })

    it('lets at most 100 reviews wait', async () => {
      const gatewayKnown = createGatewayWait({ patienceMs: 60_000 })
      let isMissing = true
      const waiting = Array.from({ length: 100 }, () => gatewayKnown(() => isMissing))
      await gatewayKnown(() => isMissing)
      isMissing = false
      await Promise.all(waiting)
    })
  })

  it('admits no pod before its caches are filled', async () => {
    await using it = await open({ isReady: () => false })
    const { status, body } = await it.ask('/pods/annotated', review(POD))
    expect([status, body.response]).toEqual([503, undefined])
  })

  it('admits no pod after an internal error, and does not reveal the error', async () => {
    const broken = {
      gatewayOf: () => {
        throw new Error('secret detail')
      },
      gatewaysIn: () => [],
    }
    await using it = await open({ gateways: broken })
    const { body } = await it.ask('/pods/annotated', review(POD))
    expect(body.response).toMatchObject({ allowed: false, status: { code: 500 } })
    expect(JSON.stringify(body)).not.toContain('secret detail')
    expect(it.failures).toHaveLength(1)
    expect(it.outcomes).toEqual(['failed'])
  })

  it.each([
    ['no review', '/pods/annotated', 'hello', 'POST', 400],
    [
      'another version',
      '/pods/annotated',
      { ...review(POD), apiVersion: 'admission.k8s.io/v1beta1' },
      'POST',
      400,
    ],
    ['another path', '/elsewhere', review(POD), 'POST', 404],
    ['another method', '/pods/required', '', 'GET', 405],
    ['too much', '/pods/required', 'x'.repeat(9 * 1024 * 1024), 'POST', 413],
  ])('admits no pod on %s', async (_, path, body, method, status) => {
    await using it = await open()
    const answer = await it.ask(path, body, method).catch((error: NodeJS.ErrnoException) => error)
    // Who sends on and on may see the end of the connection before the answer.
    if (answer instanceof Error)
      expect([status, answer.code]).toEqual([413, expect.stringMatching(/ECONNRESET|EPIPE/)])
    else expect([answer.status, answer.body.response]).toEqual([status, undefined])
  })

  it('refuses a pod with an invalid field, and names the field', async () => {
    await using it = await open()
    const { body } = await it.ask('/pods/required', review({ spec: { containers: 'many' } }))
    expect(body.response).toMatchObject({ allowed: false, status: { code: 400 } })
    expect(body.response?.status?.message).toContain('spec.containers')
  })

  it('admits other kinds and other operations unchanged', async () => {
    await using it = await open()
    const services = { resource: { group: '', version: 'v1', resource: 'services' } }
    for (const more of [services, { operation: 'DELETE' }, { subResource: 'status', operation: 'UPDATE' }]) {
      const { body } = await it.ask('/pods/annotated', review(POD, more))
      expect(body.response).toEqual({ uid: 'r-1', allowed: true })
    }
  })

  it('answers a last request on every open connection while it stops', async () => {
    const it = await open()
    const agents = [1, 2, 3].map(() => new Agent({ keepAlive: true, maxSockets: 1 }))
    const askAll = () =>
      Promise.all(agents.map((agent) => it.ask('/pods/annotated', review(POD), 'POST', agent)))
    const before = await askAll()
    const stopped = it.server[Symbol.asyncDispose]()
    const after = await askAll()
    expect([...before, ...after].map(({ status }) => status)).toEqual(Array(6).fill(200))
    await stopped
    await expect(askAll()).rejects.toThrow(/ECONNREFUSED/)
  })

  it('uses a new certificate for new connections', async () => {
    await using it = await open()
    const before = (await it.ask('/pods/annotated', review(POD))).peer
    it.server.useLeaf(leaf())
    const after = await it.ask('/pods/annotated', review(POD))
    expect(after.status).toBe(200)
    expect(after.peer).not.toBe(before)
  })
})
