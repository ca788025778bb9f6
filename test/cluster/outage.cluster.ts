import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { agentPod, inForce, ours, running, startVendor, type Vendor, WATCHER } from './agents.ts'
import { caller, recordsOf, startCalling } from './calls.ts'
import { openControlPlane } from './control-plane.ts'
import { AGENTS, install, SYSTEM } from './installation.ts'
import { apply, get, kube, kubectl } from './kubectl.ts'
import { SIZES } from './sizes.ts'

const GATEWAY = 'outage'
/** Pod that calls through an outage. */
const CALLING = 'calling'
const OTHER = 'chaperone-test-going'
let vendor: Vendor

beforeAll(async () => {
  await install(inject('installation'))
  vendor = await startVendor(GATEWAY, { rateLimit: { requestsPerMinute: 100_000 } })
  await apply(agentPod('watched', GATEWAY, { command: ['node', '-e', WATCHER] }), agentPod(CALLING, GATEWAY))
  await running('watched', CALLING)
  await inForce(GATEWAY)
}, 300_000)
afterAll(async () => {
  await kube(['delete', 'pod', 'watched', CALLING, '-n', AGENTS, '--wait=false', '--ignore-not-found'])
  await vendor?.[Symbol.asyncDispose]()
})

/** The watcher's lines: when the answer changed, and to what. */
async function answers(): Promise<ReadonlyArray<{ readonly at: number; readonly status: string }>> {
  const { stdout } = await kubectl(['logs', 'watched', '-c', 'agent', '-n', AGENTS])
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([at, status = '']) => ({ at: Number(at), status }))
}

const untilAnswered = (wanted: string) =>
  eventually(
    `the agent is answered ${wanted}`,
    async () => {
      const last = (await answers()).at(-1)
      return last?.status === wanted ? last : null
    },
    30_000,
  )

const kill = (active: boolean) =>
  kube([
    'patch',
    'cgw',
    GATEWAY,
    '-n',
    AGENTS,
    '--type=merge',
    '-p',
    JSON.stringify({ spec: { killSwitch: { active, reason: 'drill' } } }),
  ])

type Lease = { readonly spec: { readonly holderIdentity: string } }

test('an operator that is killed while the kill switch is set does not hold it up', {
  timeout: 200_000,
}, async () => {
  await untilAnswered('200')
  const lease = await get<Lease>('lease', 'chaperone-operator', SYSTEM)
  const leader = lease?.spec.holderIdentity.replace(/-[0-9a-f]{6}$/, '') ?? ''
  expect(leader).toMatch(/^chaperone-operator-/)
  const killed = kube(['delete', 'pod', leader, '-n', SYSTEM, '--grace-period=0', '--force'])
  const patchedAt = Date.now()
  await kill(true)
  const patchMs = Date.now() - patchedAt
  const { at } = await untilAnswered('403')
  await killed
  const took = at - patchedAt
  console.log(
    `from kubectl patch, which took ${patchMs}, to the first refusal while the leader was killed, ms: ${took}`,
  )
  // No other operator has the lease of the killed leader yet, so the kill switch did not wait for it.
  expect((await get<Lease>('lease', 'chaperone-operator', SYSTEM))?.spec.holderIdentity).toBe(
    lease?.spec.holderIdentity,
  )
  await kill(false)
  await untilAnswered('200')
  await kube(['rollout', 'status', 'deployment/chaperone-operator', '-n', SYSTEM, '--timeout=90s'])
})

test('a namespace is deleted in less than a minute while the control plane is down', async () => {
  const here = (kind: string, name: string, spec: object) => {
    const object = ours(kind, name, spec)
    return { ...object, metadata: { ...object.metadata, namespace: OTHER } }
  }
  const pod = agentPod('agent', 'going')
  await apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OTHER } },
    here('Gateway', 'going', {}),
    here('Gateway', 'second', {}),
    here('Connector', 'going', { type: 'codehost' }),
    here('Permission', 'going', {
      gatewayRefs: [{ name: 'going' }],
      rules: [{ connectorType: 'codehost', actionPattern: 'codehost.*', decision: 'allow' }],
    }),
  )
  await apply({ ...pod, metadata: { ...pod.metadata, namespace: OTHER } })
  await kube(['wait', '-n', OTHER, '--for=condition=Ready', '--timeout=90s', 'pod/agent'])
  const served = servedThrough('control-plane')
  try {
    await end('control-plane')
    const startedAt = Date.now()
    await kube(['delete', 'namespace', OTHER, '--timeout=60s'])
    console.log(`namespace gone without a control plane after ${Date.now() - startedAt} ms`)
    expect(await get('namespace', OTHER)).toBeNull()
    const lines = (
      await kube([
        'logs',
        '-n',
        SYSTEM,
        '-l',
        'app.kubernetes.io/component=operator',
        '--tail=-1',
        '--since-time',
        new Date(startedAt).toISOString(),
      ])
    ).split('\n')
    console.log(`lines that the operators wrote meanwhile: ${lines.length}`)
    expect(lines.filter((line) => line.includes('"stack"') && line.includes('not_ready'))).toEqual([])
    await wait(Math.max(0, startedAt + SIZES.outageMs - Date.now()))
  } finally {
    await start('control-plane')
  }
  await served()
  await untilAnswered('200')
}, 600_000)

test(`without operators and database for ${SIZES.outageMs / 1_000} s agents are served, and no record is lost`, async () => {
  const served = servedThrough('database')
  const { pathname: database } = new URL(inject('installation').adminUrl)
  const admit = (isAdmitted: boolean) =>
    inDatabase(`alter database ${database.slice(1)} allow_connections ${isAdmitted}`)
  try {
    await end('operator')
    await admit(false)
    await inDatabase(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database.slice(1)}'`,
    )
    await wait(SIZES.outageMs)
  } finally {
    await admit(true)
    await start('operator')
  }
  await served()
}, 600_000)

async function inDatabase(statement: string): Promise<void> {
  const url = new URL(inject('installation').adminUrl)
  url.pathname = '/postgres'
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

type Component = 'control-plane' | 'operator'

/** Ends all replicas of a component like a node that fails: without the time for the last calls of its preStop hook. */
async function end(component: Component): Promise<void> {
  await kube(['scale', `deployment/chaperone-${component}`, '-n', SYSTEM, '--replicas=0'])
  const selector = `app.kubernetes.io/component=${component}`
  await kube(['delete', 'pod', '-n', SYSTEM, '-l', selector, '--grace-period=1', '--timeout=60s'])
}

/** Starts both replicas of a component. Resolves when they are ready. */
async function start(component: Component): Promise<void> {
  const deployment = `deployment/chaperone-${component}`
  await kube(['scale', deployment, '-n', SYSTEM, '--replicas=2'])
  await kube(['rollout', 'status', deployment, '-n', SYSTEM, '--timeout=120s'])
}

/**
 * Starts calling in the pod of `CALLING`. The returned function ends it, and expects that every call was answered 200 and has
 * exactly one record.
 */
function servedThrough(outage: string): () => Promise<void> {
  const run = `/${outage}-${randomBytes(4).toString('hex')}`
  const stop = startCalling(CALLING, caller('GET', `${run}/`, 100))
  return async () => {
    const answers = await stop()
    console.log(`calls through the outage of the ${outage}: ${answers.length}`)
    expect(answers.length).toBeGreaterThan(50)
    expect(answers.filter(([, status]) => status !== '200')).toEqual([])
    const lines = answers.map((answer) => answer.join(' ')).sort()
    await using plane = await openControlPlane()
    const records = await recordsOf(plane, { pod: CALLING, run, atLeast: lines.length })
    expect([...records].sort()).toEqual(lines)
  }
}
