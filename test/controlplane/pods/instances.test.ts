import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { trafficRecord } from '../../sidecar/journal/traffic-record.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_TOKEN, type PodWorld, type Sidecar, startPodWorld } from './pod-world.ts'

const SANDBOX = { name: 'warm-1', uid: 'uid-sandbox' }
const CLAIM = { name: 'alice', uid: 'uid-claim' }
const RESEARCH = { agent: 'team/research', workload: 'SandboxTemplate research' }

let world: PodWorld
beforeAll(async () => {
  world = await startPodWorld()
  await world.apply('Gateway', 'team', 'gateway', {})
}, 60_000)
afterAll(() => world?.[Symbol.asyncDispose]())

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

  test('is the Sandbox until a claim adopts it, which the sidecar receives within 2 s', async () => {
    const { pod, sidecar } = await started('warm-1', { sandbox: SANDBOX })
    const unbound = { pod: 'team/warm-1', pod_uid: pod.uid, sandbox: 'team/warm-1' }
    expect(sidecar.instances).toEqual([unbound])
    expect(await upload(sidecar, 'rec_unbound', sidecar.instances[0] ?? {})).toEqual(unbound)
    await world.report({ pod, ...RESEARCH, sandbox: SANDBOX, claim: CLAIM })
    const claimed = { ...unbound, claim: 'team/alice', claim_uid: 'uid-claim' }
    await eventually('the claim', () => sidecar.instances[1] ?? null, 2_000)
    expect(sidecar.instances).toEqual([unbound, claimed])
    expect(await upload(sidecar, 'rec_claimed', sidecar.instances[1] ?? {})).toEqual(claimed)
    const [before] = await world.sql("select instance from traffic where id = 'rec_unbound'")
    expect(before).toEqual({ instance: unbound })
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
