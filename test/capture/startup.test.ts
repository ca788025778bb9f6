import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { noNamespaces } from './network.ts'
import { AGENT_UID, HOST, startGovernedPod, trustVariables } from './sidecar.ts'

const reason = noNamespaces()
const isStarted = (pod: { health(path: string): Promise<{ status: number }> }) => async () =>
  (await pod.health('/started')).status === 200 || null

describe.skipIf(reason !== null)(
  `a sidecar that starts${reason === null ? '' : ` (skipped: ${reason})`}`,
  () => {
    test('lets the agent start when the capture is verified, the trust store written and the rules received, in that order', async () => {
      const env = { OTEL_RESOURCE_ATTRIBUTES: 'k8s.cluster.name=prod-1' }
      await using pod = await startGovernedPod({ hasRules: false, isStarted: false, env })
      const starting = pod.start()
      await eventually('health', () =>
        pod.health('/started').then(
          ({ status }) => status === 503 || null,
          () => null,
        ),
      )
      await eventually('snapshot', () => pod.fake.acks.length > 0 || null)
      expect((await pod.health('/started')).status).toBe(503)
      expect((await pod.health('/ready')).status).toBe(503)
      pod.network.loadRules(1_912_345_678)
      await starting
      await eventually('started', isStarted(pod))
      for (const file of ['ca-bundle.crt', 'ca.crt', 'wgetrc', 'truststore.p12'])
        expect(existsSync(join(pod.trustDir, file)), file).toBe(true)
      expect((await pod.health('/ready')).status).toBe(200)
      expect((await pod.health('/health')).text).toContain('"status":"ok"')
      expect((await pod.health('/metrics')).text).toContain('svc_requests_total')
      expect((await pod.health('/internal/status')).status).toBe(404)
      for (const line of pod.log().trim().split('\n'))
        expect(JSON.parse(line)).toMatchObject({ resource: { 'k8s.cluster.name': 'prod-1' } })
    })

    test('delays the probe of the kubelet until it succeeds instead of failing it, which would cost a second', async () => {
      await using pod = await startGovernedPod({ hasRules: false, isStarted: false })
      const starting = pod.start()
      const ask = async () => {
        const from = performance.now()
        const { status } = await pod.health('/started')
        return { status, ms: performance.now() - from }
      }
      const early = await eventually('health', () => ask().catch(() => null))
      expect(early.status).toBe(503)
      expect(early.ms).toBeGreaterThan(1_000)
      pod.network.loadRules(1_912_345_678)
      await starting
      const later = await eventually('started', async () => {
        const answer = await ask()
        expect(answer.status === 200 || answer.ms > 1_000).toBe(true)
        return answer.status === 200 || null
      })
      expect(later).toBe(true)
    })

    test('starts the agent without a control plane after thirty seconds, and answers its requests with a readable 503', async () => {
      await using pod = await startGovernedPod({
        isStarted: false,
        env: { CONTROL_PLANE_URL: 'http://127.0.0.1:9' },
      })
      await using waiting = await startGovernedPod({
        isStarted: false,
        env: { CONTROL_PLANE_URL: 'http://127.0.0.1:9', START_ONLY_WITH_RULES: 'true' },
      })
      const startedAt = performance.now()
      const starting = pod.start(60_000)
      const alsoStarting = waiting.start(60_000)
      await eventually('health', () =>
        pod.health('/started').then(
          () => true,
          () => null,
        ),
      )
      await eventually('started', isStarted(pod))
      await starting
      expect(performance.now() - startedAt).toBeGreaterThan(25_000)
      expect((await pod.health('/ready')).status).toBe(503)
      // A Gateway that demands rules keeps the agent waiting, and says why.
      await alsoStarting
      const log = 'the agent waits for the sidecar'
      await eventually('the reason is logged', () => waiting.log().includes(log) || null)
      const { status, text } = await waiting.health('/started')
      expect(status).toBe(503)
      expect(text).toContain('the control plane has sent no rules')
      const curl = ['curl', '-sS', '-m', '8', '-o', '/dev/null', '-w', '%{http_code}', `https://${HOST}/x`]
      const ran = await pod.network.exec(curl, { uid: AGENT_UID, env: trustVariables(pod.trustDir) })
      expect(ran.stdout, ran.stderr).toBe('503')
      expect(pod.network.left()).toEqual({ packets: 0, destinations: [] })
    })

    test('presents the same root after SIGKILL, and uses a renewed token', async () => {
      await using pod = await startGovernedPod()
      const root = readFileSync(join(pod.trustDir, 'ca.crt'), 'utf8')
      await pod.kill()
      await pod.start()
      await eventually('started', isStarted(pod))
      expect(readFileSync(join(pod.trustDir, 'ca.crt'), 'utf8')).toBe(root)
      const env = trustVariables(pod.trustDir)
      const curl = ['curl', '-sS', '-m', '8', '-o', '/dev/null', '-w', '%{http_code}', `https://${HOST}/x`]
      expect((await pod.network.exec(curl, { uid: AGENT_UID, env })).stdout).toBe('200')
      pod.fake.renewToken('renewed-token')
      writeFileSync(join(pod.dir, 'token'), 'renewed-token')
      pod.fake.dropStreams()
      const version = pod.fake.version + 1
      pod.fake.configure({})
      await eventually(
        'snapshot under the new token',
        () => pod.fake.acks.some((ack) => ack.version === version) || null,
      )
    })

    test('opens no inspector and no admin port on any signal', async () => {
      await using pod = await startGovernedPod()
      await pod.signal('SIGUSR1')
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      const { stdout } = await pod.network.asRoot(['ss', '-Hltn'])
      const ports = [...stdout.matchAll(/\s\S+:(\d+)\s/g)].map(([, port]) => Number(port))
      expect([...new Set(ports)].toSorted((a, b) => a - b)).toEqual([15_001, 15_021, 15_053, 15_080, 15_443])
      expect(pod.log()).not.toContain('Debugger')
      const admin = [
        'curl',
        '-sS',
        '-m',
        '3',
        '--unix-socket',
        join(pod.dir, 'data/admin.sock'),
        'http://localhost/health',
      ]
      expect((await pod.network.exec(admin, { uid: AGENT_UID })).code).not.toBe(0)
      expect((await pod.network.exec(admin, { uid: 1_912_345_678 })).stdout).toContain('"status":"ok"')
    })
  },
)
