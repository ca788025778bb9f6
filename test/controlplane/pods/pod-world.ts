import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect } from 'vitest'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import type { Instance } from '../../../core/wire/gateway/instance.ts'
import { type ControlPlane as Control, createControlPlane } from '../../../sidecar/control/control-plane.ts'
import { createKillState, type KillState } from '../../../sidecar/control/kill-switch/kill-state.ts'
import { createLiveExchanges } from '../../../sidecar/control/live-exchanges.ts'
import { createTestClock } from '../../sidecar/control/control-world.ts'
import { createTestLog, type TestLog } from '../../sidecar/control/test-log.ts'
import { NO_CANCELLATIONS } from '../../support/no-hosted-work.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { type Answer, startControlPlane, type TestControlPlane } from '../routes/start.ts'
import { type FakeTokenReview, startFakeTokenReview, type TestPod } from './fake-token-review.ts'

export const OPERATOR_TOKEN = 'the-operator-token'

/** The sidecar's own half of the control channel, as a pod runs it. */
export type Sidecar = AsyncDisposable & {
  readonly control: Control
  readonly kill: KillState
  readonly log: TestLog
  readonly processId: string
  /** Replaced as the kubelet replaces a projected token. */
  token: string
  snapshot(): Snapshot | null
  /** The instances that the control plane has sent. */
  readonly instances: readonly Instance[]
}

export type Injected = {
  readonly gateway?: string
  readonly agent?: string
  readonly workload?: string
  readonly sandbox?: Owner
  readonly claim?: Owner
}
type Owner = { readonly name: string; readonly uid: string }
export type PodReport = Injected & { readonly pod: TestPod; readonly deleted?: boolean }

export type PodWorld = AsyncDisposable & {
  readonly plane: TestControlPlane
  readonly kube: FakeTokenReview
  readonly database: TestDatabase
  apply(kind: string, namespace: string, name: string, spec: object, credential?: string): Promise<void>
  pod(changes?: Partial<TestPod>): TestPod
  /** What the operator says of pods; `deleted` = the object is gone. */
  report(...pods: readonly PodReport[]): Promise<void>
  /** The sidecar of a pod that the operator reports as injected for this Gateway and agent. */
  sidecar(
    pod: TestPod,
    injected?: Injected & { token?: string; headers?: Record<string, string> },
  ): Promise<Sidecar>
  /** The same in a pod of which the operator says nothing. */
  unreported(pod: TestPod, token?: string): Sidecar
  /** One call with a pod's token, as anybody who holds it could make it. */
  call(
    token: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
  sql(text: string): Promise<Array<Record<string, unknown>>>
  /** Another control plane on the same database. */
  replica(): Promise<TestControlPlane>
  audit(type: string): Promise<Array<Record<string, unknown>>>
}

/** The real control plane on PostgreSQL, with a cluster that answers TokenReviews. */
export async function startPodWorld(): Promise<PodWorld> {
  const postgres = await workerPostgres()
  const database = await postgres.createMigratedDatabase()
  const kube = await startFakeTokenReview()
  const dir = mkdtempSync(join(tmpdir(), 'chaperone-pods-'))
  writeFileSync(join(dir, 'operator.token'), OPERATOR_TOKEN)
  const env = {
    OPERATOR_TOKEN_FILE: join(dir, 'operator.token'),
    OPERATOR_SERVICE_ACCOUNT: 'chaperone-system/chaperone-operator',
    KUBE_API_URL: kube.api.url,
    KUBE_CA_FILE: kube.api.caFile,
    KUBE_TOKEN_FILE: kube.api.tokenFile,
  }
  const plane = await startControlPlane(database, env)
  const others: TestControlPlane[] = []
  let generation = 0
  const client = new pg.Client({ connectionString: database.adminUrl })
  await client.connect()
  const sql = async (text: string) => (await client.query<Record<string, unknown>>(text)).rows
  const sidecars: Sidecar[] = []
  const start = (token: string, headers: Record<string, string> = {}): Sidecar => {
    const sidecar = createSidecar(plane.url, { token, headers, dir: mkdtempSync(join(dir, 'sidecar-')) })
    sidecars.push(sidecar)
    return sidecar
  }
  const report: PodWorld['report'] = async (...pods) => {
    const answer = await plane.call(
      'POST',
      '/api/operator/pods',
      { pods: pods.map(podIdentity) },
      { authorization: `Bearer ${OPERATOR_TOKEN}` },
    )
    expect(answer.status, answer.text).toBe(200)
  }

  return {
    plane,
    kube,
    sql,
    database,
    async apply(kind, namespace, name, spec, credential) {
      generation++
      const answer = await plane.call(
        'PUT',
        `/api/operator/objects/${kind}/${namespace}/${name}`,
        {
          ...{
            uid: `uid-${kind}-${namespace}-${name}`,
            generation,
            source: 'kubernetes',
            managed_by: `${kind} ${name}`,
          },
          resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
          ...(credential === undefined ? {} : { credential }),
        },
        { authorization: `Bearer ${OPERATOR_TOKEN}` },
      )
      expect(answer.body, answer.text).toMatchObject({ accepted: true })
    },
    pod: (changes = {}) => ({
      ...{ namespace: 'team', serviceAccount: 'bot', name: 'bot-1', uid: randomUUID() },
      ...changes,
    }),
    report,
    call: (token, method, path, body, headers = {}) =>
      plane.call(method, path, body, {
        ...{ authorization: `Bearer ${token}`, 'x-process-id': `proc_${randomUUID()}` },
        ...headers,
      }),
    async sidecar(pod, { token = kube.tokenOf(pod), headers = {}, ...injected } = {}) {
      await report({ pod, ...injected })
      return start(token, headers)
    },
    unreported: (pod, token = kube.tokenOf(pod)) => start(token),
    async replica() {
      const replica = await startControlPlane(database, env)
      others.push(replica)
      return replica
    },
    async audit(type) {
      return sql(`select agent_id, details from audit_events where event_type = '${type}' order by id`)
    },
    async [Symbol.asyncDispose]() {
      for (const sidecar of sidecars) await sidecar[Symbol.asyncDispose]()
      for (const replica of [...others, plane]) await replica.close()
      await client.end()
      await kube[Symbol.asyncDispose]()
      await postgres.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export function podIdentity({
  pod,
  gateway = 'team/gateway',
  agent = 'team/bot',
  workload,
  deleted = false,
  sandbox,
  claim,
}: PodReport) {
  const { uid: podUid, namespace, name } = pod
  return {
    ...{ podUid, namespace, name, agent, gateway, workload: workload ?? `Pod ${name}`, deleted },
    ...{ sandbox, claim },
  }
}

function createSidecar(
  url: string,
  given: { readonly token: string; readonly headers: Record<string, string>; readonly dir: string },
): Sidecar {
  const log = createTestLog()
  const clock = createTestClock()
  const instances: Instance[] = []
  const kill = createKillState({
    instance: () => instances.at(-1) ?? null,
    file: join(given.dir, 'kill.json'),
    live: createLiveExchanges(),
    clock,
    log,
  })
  const processId = `proc_${randomUUID()}`
  const state = { token: given.token, isClosed: false }
  const control = createControlPlane({
    ...{ url, processId, headers: given.headers, kill, clock, log },
    token: async () => state.token,
    random: () => 0,
    status: () => ({
      ...{ url: '', version: '0', applied_version: control.snapshots.current()?.version ?? null, agents: 1 },
      uptime_seconds: 1,
      journal: { state: 'ok', pending: 0, bytes: 0 },
    }),
    onQuota: () => undefined,
    onInstance(instance) {
      instances.push(instance)
      kill.instanceChanged()
    },
    onSnapshot: () => undefined,
    execute: () => Promise.reject(new Error('no order is expected here')),
    cancellations: NO_CANCELLATIONS,
  })
  control.start()
  return {
    ...{ control, kill, log, processId, instances },
    get token() {
      return state.token
    },
    set token(token) {
      state.token = token
    },
    snapshot: control.snapshots.current,
    async [Symbol.asyncDispose]() {
      if (state.isClosed) return
      state.isClosed = true
      control.close()
      control.holds.failAll(new Error('test is over'))
      await control.client.close()
    },
  }
}
