import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { createScopedQuery } from '../../../controlplane/db/scoped-query.ts'
import { PODS_PAYLOAD, SYNC_CHANNEL } from '../../../controlplane/db/sync-channel.ts'
import { listPresentAgentsIn } from '../../../controlplane/features/agents/rows.ts'
import { deleteEndedAgents } from '../../../controlplane/features/maintenance/store.ts'
import { listRunningInstances } from '../../../controlplane/features/pods/rows.ts'
import { listTraffic } from '../../../controlplane/features/traffic/rows.ts'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { trafficRecord } from '../../sidecar/journal/traffic-record.ts'
import { eventually } from '../../support/eventually.ts'
import { at, register } from '../routes/start.ts'
import { OPERATOR_TOKEN, type PodWorld, type Sidecar, startPodWorld } from './pod-world.ts'

const SANDBOX = { name: 'warm-1', uid: 'uid-sandbox' }
const CLAIM = { name: 'alice', uid: 'uid-claim' }
const RESEARCH = { agent: 'team/research', workload: 'SandboxTemplate research' }

let world: PodWorld
let db: Db
beforeAll(async () => {
  world = await startPodWorld()
  db = await openDb({ url: world.database.url, log: pino({ level: 'silent' }) })
  await world.apply('Gateway', 'team', 'gateway', {})
})
afterAll(async () => {
  await db?.close()
  await world?.[Symbol.asyncDispose]()
})

async function started(name: string, injected: object) {
  const pod = world.pod({ name, serviceAccount: 'default' })
  const sidecar = await world.sidecar(pod, { ...RESEARCH, ...injected })
  await eventually('the first instance', () => sidecar.instances[0] ?? null)
  return { pod, sidecar }
}

async function upload(sidecar: Sidecar, id: string, instance: object, agent = RESEARCH.agent) {
  const record = { ...trafficRecord({ id, process_id: sidecar.processId, agent }), instance }
  const reply = await sidecar.control.client.post(SYNC_PATHS.records, { records: [record] })
  expect(reply.status).toBe(200)
  const [stored] = await world.sql(`select instance from traffic where id = '${id}'`)
  return stored?.['instance']
}

describe('the instance of an agent', () => {
  test('is the pod where no Sandbox owns it', async () => {
    const { pod, sidecar } = await started('web-1', { agent: 'team/web', workload: 'Deployment web' })
    expect(sidecar.instances).toEqual([{ pod: 'team/web-1', pod_uid: pod.uid }])
  })

  test('is the Sandbox until a claim adopts it, which the sidecar receives', async () => {
    const { pod, sidecar } = await started('warm-1', { sandbox: SANDBOX })
    const unbound = { pod: 'team/warm-1', pod_uid: pod.uid, sandbox: 'team/warm-1' }
    expect(sidecar.instances).toEqual([unbound])
    expect(await upload(sidecar, 'rec_unbound', sidecar.instances[0] ?? {})).toEqual(unbound)
    await world.report({ pod, ...RESEARCH, sandbox: SANDBOX, claim: CLAIM })
    const claimed = { ...unbound, claim: 'team/alice', claim_uid: 'uid-claim' }
    await eventually('the claim', () => sidecar.instances[1] ?? null)
    expect(sidecar.instances).toEqual([unbound, claimed])
    expect(await upload(sidecar, 'rec_claimed', sidecar.instances[1] ?? {})).toEqual(claimed)
    const [before] = await world.sql("select instance from traffic where id = 'rec_unbound'")
    expect(before).toEqual({ instance: unbound })
  })

  test.each([
    ['team/alice', ['rec_claimed']],
    ['team/warm-1', ['rec_claimed', 'rec_unbound']],
    ['team/other', []],
  ])('selects its records by claim, Sandbox or pod: %s', async (instance, ids) => {
    const [org] = await world.sql('select id from orgs')
    const page = { filter: { instance }, limit: 10 }
    const { records: found } = await listTraffic(
      createScopedQuery(db, new Set(['team'])),
      String(org?.['id']),
      page,
    )
    expect(found.map(({ id }) => id).sort()).toEqual(ids)
  })

  test('notifies replicas of a claim once, however many replicas of the operator report it', async () => {
    const payloads: string[] = []
    await using _listening = await db.listen(SYNC_CHANNEL, (payload) => {
      if ([PODS_PAYLOAD, 'end'].includes(payload)) payloads.push(payload)
    })
    const pod = world.pod({ name: 'warm-3' })
    const report = { pod, ...RESEARCH, sandbox: SANDBOX }
    for (const claim of [undefined, CLAIM, CLAIM]) await world.report({ ...report, ...(claim && { claim }) })
    await world.sql(`select pg_notify('${SYNC_CHANNEL}', 'end')`)
    await eventually('the end', () => payloads.includes('end') || null)
    expect(payloads).toEqual([PODS_PAYLOAD, 'end'])
  })

  test('keeps its first claim: neither a stale report nor another claim replaces it', async () => {
    const { pod } = await started('warm-2', { sandbox: { name: 'warm-2', uid: 'u' }, claim: CLAIM })
    const report = { pod, ...RESEARCH, sandbox: { name: 'warm-2', uid: 'u' } }
    await world.report(report)
    await world.report({ ...report, claim: { name: 'mallory', uid: 'uid-mallory' } })
    const sidecar = world.unreported(pod)
    await eventually('the instance', () => sidecar.instances[0] ?? null)
    expect(sidecar.instances[0]).toMatchObject({ claim: 'team/alice', claim_uid: 'uid-claim' })
  })

  test('is returned to the operator with the pod', async () => {
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` }
    const { body } = await world.plane.call('GET', '/api/operator/pods', undefined, headers)
    const pods = body['pods'] as { name: string }[]
    expect(pods.find(({ name }) => name === 'warm-1')).toMatchObject({ sandbox: SANDBOX, claim: CLAIM })
    expect(pods.find(({ name }) => name === 'web-1')).toMatchObject({ sandbox: null, claim: null })
  })

  test('of another pod is not stored with a record', async () => {
    const { sidecar } = await started('web-2', { agent: 'team/web', workload: 'Deployment web' })
    const foreign = { pod: 'team/warm-1', pod_uid: 'another' }
    expect(await upload(sidecar, 'rec_foreign', foreign, 'team/web')).toBeNull()
  })
})

describe('an agent of pods', () => {
  const present = async () =>
    (await listPresentAgentsIn(createScopedQuery(db, new Set(['team'])))).map(({ name }) => name)
  const running = () => listRunningInstances(createScopedQuery(db, new Set(['team'])))

  test('has its running instances in the list, those with a claim first', async () => {
    await started('warm-5', { sandbox: { name: 'warm-5', uid: 'u5' } })
    const research = (await running()).get('team/research')
    expect(research?.instances[0]).toMatchObject({ claim: 'team/alice' })
    expect(research?.instances.map(({ pod }) => pod)).toContain('team/warm-5')
    expect(research?.pods).toBe(research?.instances.length)
    expect((await register(world.plane.call, 'owner@example.com')).status).toBe(200)
    const owner = await world.plane.signIn('owner@example.com')
    const { body } = await owner('GET', '/api/dashboard/agents')
    const agents = at<{ name: string; running?: object }[]>(body, 'agents')
    expect(agents.find(({ name }) => name === 'team/research')?.running).toEqual(research)
    const { body: log } = await owner('GET', '/api/dashboard/traffic?instance=team/alice')
    expect(at(log, 'traffic', 0, 'instance', 'claim')).toBe('team/alice')
  })

  test.each([
    ['Pod solo', 'team/solo', true],
    ['Job once', 'team/once', true],
    ['Sandbox lab', 'team/lab', true],
    ['Deployment shop', 'team/shop', false],
    ['SandboxTemplate pool', 'team/pool', false],
  ])(
    'of %s leaves the list with its last pod, and is deleted a day later: %s %s',
    async (workload, agent, ends) => {
      const { pod } = await started(`${agent.slice(5)}-pod`, { agent, workload })
      expect((await running()).get(agent)?.pods).toBe(1)
      await world.report({ pod, agent, workload, deleted: true })
      expect((await running()).get(agent)).toBeUndefined()
      expect((await present()).includes(agent)).toBe(!ends)
      await world.sql(`update agents set created_at = now() - interval '2 days' where name = '${agent}'`)
      expect(await deleteEndedAgents(db, 10)).toBe(0)
      await world.sql(
        `update pod_identities set deleted_at = now() - interval '25 hours' where agent = '${agent}'`,
      )
      expect(await deleteEndedAgents(db, 10)).toBe(ends ? 1 : 0)
      expect(await world.sql(`select 1 from agents where name = '${agent}'`)).toHaveLength(ends ? 0 : 1)
    },
  )

  test('stays when it is suspended: a pod of its name stays refused', async () => {
    const { pod } = await started('held-pod', { agent: 'team/held', workload: 'Pod held' })
    await world.report({ pod, agent: 'team/held', workload: 'Pod held', deleted: true })
    await world.sql(
      "update agents set status = 'suspended', created_at = now() - interval '2 days' where name = 'team/held'",
    )
    await world.sql(
      "update pod_identities set deleted_at = now() - interval '25 hours' where agent = 'team/held'",
    )
    expect(await deleteEndedAgents(db, 10)).toBe(0)
    expect(await present()).toContain('team/held')
  })
})
