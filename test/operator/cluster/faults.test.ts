import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { PolicySpec } from '../../../core/crd/policy/policy-spec.ts'
import { PermissionSpec, type ResourceKind } from '../../../core/crd/schemas.ts'
import {
  type ClusterOperator,
  type ClusterTiming,
  createClusterOperator,
} from '../../../operator/cluster/cluster-operator.ts'
import { RESOURCES } from '../../../operator/kube/objects.ts'
import { OPERATOR_TOKEN, type Replica, startWorld, type World } from '../../controlplane/sync/harness.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type FakeCall,
  type FakeKubeApi,
  type Front,
  fakeKubeconfig,
  startFakeKubeApi,
  times,
} from '../../support/fake-kube-api.ts'
import { NO_FLOORS } from '../../support/no-floors.ts'

const SPECS = {
  Gateway: GatewaySpec,
  Connector: ConnectorSpec,
  Permission: PermissionSpec,
  Policy: PolicySpec,
}
const RULE = { connectorType: 'codehost', actionPattern: 'codehost.pr.*', decision: 'allow' }
const TIMING = {
  watch: { watchS: [290, 590], idleMs: 400, minMs: 10, maxMs: 100 },
  lease: { durationMs: 1_500, renewDeadlineMs: 1_000, retryMs: 200 },
  leader: { sweepMs: 300, secretsMs: 200, stateMs: 100, countsMs: 100, grantsMs: 100 },
} as const

let api: FakeKubeApi
let control: World
let replica: Replica
let folder: string
let operators: ClusterOperator[]

beforeEach(async () => {
  operators = []
  folder = await mkdtemp(join(tmpdir(), 'chaperone-faults-'))
  await writeFile(join(folder, 'token'), OPERATOR_TOKEN)
  api = await startFakeKubeApi()
  control = await startWorld()
  replica = await control.replica()
})
afterEach(async () => {
  for (const operator of operators) await operator[Symbol.asyncDispose]()
  await control.stop()
  await api[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

async function start(
  name: string,
  timing: ClusterTiming = TIMING,
): Promise<{ operator: ClusterOperator; front: Front }> {
  const front = await api.front(name)
  const kubeconfig = join(folder, `${name}.kubeconfig`)
  await writeFile(kubeconfig, fakeKubeconfig(front.url))
  const log = pino({ level: process.env.TEST_LOG ?? 'silent' }, pino.destination({ dest: 2, sync: true }))
  const operator = await createClusterOperator({
    log,
    timing,
    config: {
      ...{
        mode: 'cluster',
        namespace: 'system',
        podName: name,
        leaseName: 'lease',
        podApi: null,
        kubeconfig,
      },
      ...{ controlPlaneUrl: replica.url, peers: [], peersHost: null, controlPlaneCaFile: null },
      ...{ operatorTokenFile: join(folder, 'token'), floorRules: NO_FLOORS },
      ...{ healthHost: '127.0.0.1', healthPort: 0, logLevel: 'silent' },
    },
  })
  operators.push(operator)
  return { operator, front }
}

const collection = (kind: ResourceKind) => `${RESOURCES[kind].base.slice(1)}/${RESOURCES[kind].plural}`
function create(kind: ResourceKind, name: string, spec: object): void {
  const body = { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace: 'team' } }
  api.store.create(collection(kind), { ...body, spec: SPECS[kind].parse(spec) })
}
const drop = (kind: ResourceKind, name: string) => api.store.remove(collection(kind), 'team', name)
const permission = (name: string) =>
  create('Permission', name, { gatewayRefs: [{ name: 'prod' }], rules: [RULE] })
/** Each replica makes those that are missing, whether it leads or not. */
function createEmergencyMaps(): void {
  for (const namespace of ['system', 'team'])
    api.store.create('api/v1/configmaps', { metadata: { name: 'chaperone-emergency', namespace } })
}

/** `Kind/name` of everything that the control plane holds. */
async function held(): Promise<string> {
  const { rows } = await replica.db.query<{ id: string }>(
    "select kind || '/' || name as id from manifest_objects order by 1",
  )
  return rows.map(({ id }) => id).join(' ')
}
const untilHeld = (wanted: string) =>
  eventually(`the control plane holds ${wanted}`, async () => ((await held()) === wanted ? true : null))
const isOurs = ({ path }: FakeCall) => path.includes('chaperone.dev')
/** Everything but holding the lease: Events are writes too. */
const ourWrites = () => api.writes().filter(({ path }) => !path.includes('/leases'))
const policyLists = () => api.calls.filter((call) => call.path.endsWith('/policies') && !call.isWatch).length
const sweeps = () => replica.sweeps()

describe('the operator on an API server that misbehaves', () => {
  test('writes nothing in a second resync, by the audit log of the API server', async () => {
    createEmergencyMaps()
    create('Gateway', 'prod', {})
    create('Connector', 'codehost', { type: 'codehost' })
    permission('prs')
    create('Policy', 'careful', { rules: [{ name: 'r', conditions: ['true'], decision: 'deny' }] })
    const first = await start('first')
    await untilHeld('Connector/codehost Gateway/prod Permission/prs Policy/careful')
    await eventually('all four statuses are written', () =>
      (Object.keys(SPECS) as ResourceKind[]).every(
        (kind) => api.store.list(collection(kind))[0]?.['status'] !== undefined,
      )
        ? true
        : null,
    )
    const settled = sweeps()
    await eventually('three more comparisons', () => (sweeps() > settled + 3 ? true : null))
    const before = ourWrites().length
    expect(before).toBeGreaterThanOrEqual(Object.keys(SPECS).length)
    await first.operator[Symbol.asyncDispose]()
    const { operator } = await start('second')
    await eventually('another one leads', () => (operator.isLeader() ? true : null))
    const taken = sweeps()
    await eventually('three more comparisons', () => (sweeps() > taken + 3 ? true : null))
    expect(
      ourWrites()
        .slice(before)
        .map(({ method, path }) => `${method} ${path}`),
    ).toEqual([])
  })

  test('removes nothing by mistake through 410, half-open watches, 429, truncated lines and failing lists, and catches up on deletions', async () => {
    create('Gateway', 'prod', {})
    for (const name of ['a', 'b', 'c']) permission(name)
    await start('only')
    await untilHeld('Gateway/prod Permission/a Permission/b Permission/c')
    const isWatch = (call: FakeCall) => isOurs(call) && call.isWatch
    const isList = (call: FakeCall) => isOurs(call) && !call.isWatch && call.method === 'GET'
    const faults = [
      api.fault(times(8, isWatch, { kind: 'status', status: 410 })),
      api.fault(times(8, isWatch, { kind: 'truncate' })),
      api.fault(times(8, isList, { kind: 'status', status: 429, retryAfterS: 0 })),
      api.fault((call) => (isList(call) ? { kind: 'status', status: 500 } : null)),
    ]
    api.store.compact()
    api.silenceWatches()
    drop('Permission', 'b')
    permission('d')
    const failed = () => api.calls.filter(isList).length
    const before = failed()
    await eventually('many lists failed', () => (failed() > before + 20 ? true : null))
    expect(await held()).toBe('Gateway/prod Permission/a Permission/b Permission/c')
    faults.pop()?.[Symbol.dispose]()
    await untilHeld('Gateway/prod Permission/a Permission/c Permission/d')
    for (const fault of faults) fault[Symbol.dispose]()
  })

  test('two operators never write at the same time, even when the first is partitioned', async () => {
    createEmergencyMaps()
    create('Gateway', 'prod', {})
    const first = await start('first')
    await eventually('the first leads', () => (first.operator.isLeader() ? true : null))
    await untilHeld('Gateway/prod')
    const second = await start('second')
    first.front.hang()
    await eventually('the second leads', () => (second.operator.isLeader() ? true : null))
    expect(first.operator.isLeader()).toBe(false)
    const takenOverAt = performance.now()
    permission('late')
    await untilHeld('Gateway/prod Permission/late')
    await first.front.restore()
    await eventually('the status is written', () =>
      api.store.list(collection('Permission'))[0]?.['status'] === undefined ? null : true,
    )
    const late = ourWrites().filter(({ front, at }) => front === 'first' && at >= takenOverAt)
    expect(late).toEqual([])
  })

  const readiness = async (operator: ClusterOperator) => {
    const answer = await fetch(`http://127.0.0.1:${operator.healthPort}/readyz`)
    return { status: answer.status, checks: (await answer.json()) as Record<string, string> }
  }
  const ready = (operator: ClusterOperator) =>
    eventually('it is ready', async () => ((await readiness(operator)).status === 200 ? true : null))

  test('is not ready before its caches are filled, and /readyz has the reason', async () => {
    const fault = api.fault(({ path, isWatch }) =>
      path.endsWith('/policies') && !isWatch ? { kind: 'status', status: 500 } : null,
    )
    const { operator } = await start('only')
    await eventually('it tries', () => (policyLists() > 2 ? true : null))
    expect(await readiness(operator)).toMatchObject({
      status: 503,
      checks: { synced: 'the operator has not read all objects from the API server yet' },
    })
    fault[Symbol.dispose]()
    await ready(operator)
  })

  test('is not ready when the API server is silent, names the stale resources, and recovers', async () => {
    // Longer than the watches of the test may be idle, so that nothing but silence is late.
    const { operator, front } = await start('only', {
      ...TIMING,
      kill: { silentMs: 200, brokenMs: 200 },
      maxStalenessMs: 2_000,
    })
    await ready(operator)
    front.hang()
    api.silenceWatches()
    const resources = ['gateways', 'connectors', 'permissions', 'policies', 'pods']
    await eventually('it names all that it does not hear of', async () => {
      const { status, checks } = await readiness(operator)
      const isFolderChosen = resources.every((resource) => checks['watches']?.includes(resource))
      return status === 503 &&
        isFolderChosen &&
        checks['kill-switches'] ===
          'the kill switches of Gateways and emergency ConfigMaps cannot be read from the API server'
        ? true
        : null
    })
    await front.restore()
    await ready(operator)
  })
})
