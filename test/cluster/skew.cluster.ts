import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, expect, inject, test } from 'vitest'
import { knownSchemas } from '../../controlplane/db/schema/migration-files.ts'
import { eventually } from '../support/eventually.ts'
import { agentPod, CALLS, inAgent, inForce, running, startVendor, type Vendor } from './agents.ts'
import { type Answers, caller, recordsOf, startCalling } from './calls.ts'
import { type ControlPlane, openControlPlane } from './control-plane.ts'
import { AGENTS, frozenVersion, type Installation, install, SYSTEM, upgradedVersion } from './installation.ts'
import { apply, get, kube } from './kubectl.ts'

const GATEWAY = 'skew'
const FROZEN = ['reads', 'asks', 'waits'] as const
const NEW = 'new'
const APPROVALS = '/api/dashboard/proxy-approvals'
let vendor: Vendor | undefined

afterAll(async () => {
  await kube(['delete', 'pod', ...FROZEN, NEW, '-n', AGENTS, '--wait=false', '--ignore-not-found'])
  await vendor?.[Symbol.asyncDispose]()
})

/** Installs the chart, and waits for the end of the former operators, which inject sidecars of their own version until then. */
async function reinstall(installation: Pick<Installation, 'values'>): Promise<void> {
  await install(installation)
  type Pods = {
    readonly items: ReadonlyArray<{
      readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
    }>
  }
  const operators = ['get', 'pods', '-n', SYSTEM, '-l', 'app.kubernetes.io/component=operator']
  await eventually(
    'the former operators have ended',
    async () => {
      const { items } = JSON.parse(await kube([...operators, '-o', 'json'])) as Pods
      return items.some(({ metadata }) => metadata.deletionTimestamp !== undefined) ? null : true
    },
    60_000,
  )
}

/** Starts a control plane of the frozen version, and pods with sidecars of it. */
async function startFrozen(): Promise<void> {
  await reinstall(frozenVersion(inject('installation')))
  vendor = await startVendor(GATEWAY, { rateLimit: { requestsPerMinute: 100_000 } })
  await apply(...FROZEN.map((name) => agentPod(name, GATEWAY)))
  await running(...FROZEN)
  await inForce(GATEWAY)
}

type Approval = { readonly id: string; readonly agent: string; readonly path: string | null }

async function pendingOf(plane: ControlPlane, pod: string): Promise<readonly Approval[]> {
  const list = await plane.call<{ readonly approvals: readonly Approval[] }>(
    'GET',
    `${APPROVALS}?status=pending`,
  )
  return list.approvals.filter(({ agent }) => agent === `${AGENTS}/${pod}`)
}

/** Waits until the control plane has an approval for a request of the pod. */
async function isHeld(pod: string): Promise<void> {
  await using plane = await openControlPlane()
  await eventually('the request is held', async () =>
    (await pendingOf(plane, pod)).length > 0 ? true : null,
  )
}

/** Every third request is denied. */
const isApproved = (path: string) => Number(path.split('/').at(-1)) % 3 !== 0

/**
 * Decides the held requests of a pod until the signal. A decision whose reply is lost with its control plane is made again
 * where the approval is still pending. Returns the number of decisions, and of lost connections.
 */
async function decideUntil(end: AbortSignal, pod: string) {
  let decided = 0
  let lost = 0
  while (!end.aborted) {
    try {
      await using plane = await openControlPlane()
      while (!end.aborted) {
        for (const { id, path } of await inTime(pendingOf(plane, pod))) {
          await inTime(plane.call('POST', APPROVALS, { id, approved: isApproved(path ?? '') }))
          decided += 1
        }
        await wait(200)
      }
    } catch {
      lost += 1
      await wait(500)
    }
  }
  return { decided, lost }
}

/** kubectl keeps a connection open whose pod has gone. */
async function inTime<T>(call: Promise<T>): Promise<T> {
  const late = wait(5_000, null, { ref: false }).then(() => {
    throw new Error('no answer')
  })
  return Promise.race([call, late])
}

async function sidecarOf(pod: string): Promise<{ readonly image: string; readonly restarts: number }> {
  type Named = { readonly name: string }
  type Pod = {
    readonly spec: { readonly initContainers: ReadonlyArray<Named & { readonly image: string }> }
    readonly status: {
      readonly initContainerStatuses: ReadonlyArray<Named & { readonly restartCount: number }>
    }
  }
  const found = await get<Pod>('pod', pod, AGENTS)
  const isOwn = ({ name }: Named) => name === 'chaperone-proxy'
  return {
    image: found?.spec.initContainers.find(isOwn)?.image ?? '',
    restarts: found?.status.initContainerStatuses.find(isOwn)?.restartCount ?? Number.NaN,
  }
}

/** Whether each replica of the control plane is of the frozen version. */
async function frozenReplicas(): Promise<readonly boolean[]> {
  type Pods = {
    readonly items: ReadonlyArray<{
      readonly metadata: { readonly deletionTimestamp?: string }
      readonly spec: { readonly containers: ReadonlyArray<{ readonly image: string }> }
    }>
  }
  const component = 'app.kubernetes.io/component=control-plane'
  const { items } = JSON.parse(
    await kube(['get', 'pods', '-n', SYSTEM, '-l', component, '-o', 'json']),
  ) as Pods
  return items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ spec }) => spec.containers.some(({ image }) => image.includes('-frozen:')))
}

/** Numbers of the migrations that the database has. */
async function migrations(): Promise<readonly number[]> {
  const client = new pg.Client({ connectionString: inject('installation').upgradedUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ number: number }>(
      'select number from schema_migrations order by number',
    )
    return rows.map(({ number }) => number)
  } finally {
    await client.end()
  }
}

/**
 * Upgrades control plane and operator to this tree, one replica after the other, and starts a sidecar of it beside those of
 * the frozen version.
 */
async function upgrade(path: string): Promise<void> {
  expect(await frozenReplicas()).toEqual([true, true])
  const before = await migrations()
  await reinstall(upgradedVersion(inject('installation')))
  expect(await frozenReplicas()).toEqual([false, false])
  const known = (await knownSchemas()).toSorted((a, b) => a - b)
  // Indexes are built after the start.
  const after = await eventually('all migrations', async () => {
    const applied = await migrations()
    return applied.length < known.length ? null : applied
  })
  console.log(`migrations of the upgrade: ${after.filter((number) => !before.includes(number)).join(' ')}`)
  expect(after).toEqual(known)
  expect(after.slice(0, before.length)).toEqual(before)
  await apply(agentPod(NEW, GATEWAY))
  await running(NEW)
  await inForce(GATEWAY)
  expect((await inAgent(NEW, CALLS.node('GET', path))).stdout).toBe('200 {"ok":true}\n')
}

test('the control plane is upgraded under sidecars of the frozen version: no call fails, no decision is lost', async () => {
  await startFrozen()
  // Records outlive the pods of an earlier attempt.
  const run = `/${randomBytes(4).toString('hex')}`
  const held = inAgent('waits', CALLS.node('POST', `${run}/held`))
  await isHeld('waits')
  const stopReading = startCalling('reads', caller('GET', `${run}/get/`, 200))
  const stopAsking = startCalling('asks', caller('POST', `${run}/post/`, 0))
  const end = new AbortController()
  const deciding = decideUntil(end.signal, 'asks')
  let asks: Answers
  try {
    await upgrade(`${run}/new`)
    await using plane = await openControlPlane()
    const [approval] = await pendingOf(plane, 'waits')
    await plane.call('POST', APPROVALS, { id: approval?.id, approved: true })
    expect((await held).stdout).toBe('200 {"ok":true}\n')
    asks = await stopAsking()
  } finally {
    end.abort()
  }
  const { decided, lost } = await deciding
  const reads = await stopReading()
  console.log(`calls through the upgrade: ${reads.length}; decisions: ${decided}; connections lost: ${lost}`)
  expect(reads.length).toBeGreaterThan(50)
  expect(asks.length).toBeGreaterThan(10)
  expect(reads.filter(([, status]) => status !== '200')).toEqual([])
  expect(asks.filter(([path, status]) => status !== (isApproved(path) ? '200' : '403'))).toEqual([])

  await using plane = await openControlPlane()
  const recorded = async (pod: string, answers: Answers) => {
    const lines = answers.map((answer) => answer.join(' ')).sort()
    expect([...(await recordsOf(plane, { pod, run, atLeast: lines.length }))].sort(), pod).toEqual(lines)
  }
  await recorded('reads', reads)
  await recorded('asks', asks)
  await recorded('waits', [[`${run}/held`, '200']])
  const passed = [...reads, ...asks].filter(([, status]) => status === '200').map(([path]) => path)
  expect(vendor?.recorder.seen.map(({ target }) => target).sort()).toEqual(
    [...passed, `${run}/held`, `${run}/new`].sort(),
  )

  const sidecars = await Promise.all([...FROZEN, NEW].map(sidecarOf))
  expect(sidecars.map(({ image }) => image.includes('-frozen:'))).toEqual([true, true, true, false])
  expect(sidecars.map(({ restarts }) => restarts)).toEqual([0, 0, 0, 0])
}, 400_000)
