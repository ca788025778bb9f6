import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { listKillNames } from '../../../controlplane/features/kill-switch/name-store.ts'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { eventually } from '../../support/eventually.ts'
import { at } from '../routes/start.ts'
import { OPERATOR_TOKEN, type PodWorld, type Sidecar, startPodWorld } from './pod-world.ts'

/** Two claims on Sandboxes of one template, which are one agent, and a Sandbox that waits in the pool. */
let world: PodWorld
let [alice, bob]: (Sidecar | undefined)[] = []
const RESEARCH = { agent: 'team/research', workload: 'SandboxTemplate research' }
const SUBJECT = { agent: 'team/research', agentId: null, connectors: [] }
const owned = (sandbox: string, claim?: string) => ({
  ...{ ...RESEARCH, sandbox: { name: sandbox, uid: `uid-${sandbox}` } },
  ...(claim === undefined ? {} : { claim: { name: claim, uid: `uid-${claim}` } }),
})

beforeAll(async () => {
  world = await startPodWorld()
  await world.apply('Gateway', 'team', 'gateway', {})
  const start = (sandbox: string, claim: string) =>
    world.sidecar(world.pod({ name: sandbox, serviceAccount: 'default' }), owned(sandbox, claim))
  alice = await start('warm-1', 'alice')
  bob = await start('warm-2', 'bob')
  for (const each of [alice, bob]) await eventually('the instance', () => each?.instances[0] ?? null)
})
afterAll(() => world?.[Symbol.asyncDispose]())

let revision = 0
async function kill(...scopes: readonly string[]): Promise<void> {
  const body = { source: 'configmap', scopes, reason: 'drill', by: 'test', revision: ++revision }
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` }
  const answer = await world.plane.call('POST', '/api/operator/kill', body, headers)
  expect(answer.body, answer.text).toMatchObject({ applied: true })
}
const stopped = (sidecar: Sidecar | undefined) =>
  eventually('stopped', () => sidecar?.kill.match(SUBJECT)?.scope ?? null)

describe('a kill switch for an instance', () => {
  test.each(['claim:team/alice', 'pod:team/warm-1'])(
    '%s stops its pod, and no other of the agent',
    async (scope) => {
      await kill(scope)
      expect(await stopped(alice)).toBe(scope)
      expect(bob?.kill.effective()).toMatchObject([{ scope }])
      expect(bob?.kill.match(SUBJECT)).toBeNull()
      await kill()
      await eventually('lifted', () => alice?.kill.match(SUBJECT) === null || null)
    },
  )

  test('stops a Sandbox that the claim adopts later', async () => {
    const pod = world.pod({ name: 'warm-3', serviceAccount: 'default' })
    const carol = await world.sidecar(pod, owned('warm-3'))
    await eventually('the instance', () => carol.instances[0] ?? null)
    await kill('claim:team/carol')
    await eventually('the kill switch', () => carol.kill.effective()[0] ?? null)
    expect(carol.kill.match(SUBJECT)).toBeNull()
    await world.report({ pod, ...owned('warm-3', 'carol') })
    expect(await stopped(carol)).toBe('claim:team/carol')
    await kill()
  })

  test('can name the instances with a running pod', async () => {
    const db = await openDb({ url: world.database.url, log: pino({ level: 'silent' }) })
    const [org] = await world.sql('select id from orgs')
    const { instances } = await listKillNames(db, String(org?.['id']))
    await db.close()
    expect(instances).toContainEqual({
      pod: 'team/warm-1',
      pod_uid: alice?.instances[0]?.pod_uid,
      claim: 'team/alice',
    })
  })
})

const HOLD = {
  ...{ act_id: 'act_own', connector: 'code', action_type: 'codehost.pr.merge', target: null, method: 'PUT' },
  ...{ host: 'api.github.com', path: '/x', parameters: {}, risk_score: 0.5, risk_factors: [] },
  ...{ matched_rule: null, required_approver_groups: [], requested_by_agent_text: null, body_sha256: null },
}

async function hold(sidecar: Sidecar | undefined, binding: string) {
  if (sidecar === undefined) throw new Error('no sidecar')
  const body = { ...HOLD, binding: binding.repeat(64), agent: 'team/research', act_id: `act_${binding}` }
  const { status, bytes } = await sidecar.control.client.post(SYNC_PATHS.holds, body)
  const reply: unknown = JSON.parse(bytes.toString())
  return {
    status,
    outcome: at(reply, 'outcome'),
    id: at(reply, 'approval', 'id'),
    card: at(reply, 'approval'),
  }
}
const statusOf = async (id: string) =>
  (await world.sql(`select status from approvals where id = '${id}'`))[0]?.['status']

describe('a held request of an instance', () => {
  test('has the instance on its card, and is approved for its claim only', async () => {
    const first = await hold(alice, 'a')
    expect(first).toMatchObject({ status: 200, outcome: 'created' })
    expect(first.card).toMatchObject({ instance: { claim: 'team/alice', pod: 'team/warm-1' } })
    const second = await hold(bob, 'a')
    expect(second).toMatchObject({ outcome: 'created', card: { instance: { claim: 'team/bob' } } })
    expect(second.id).not.toBe(first.id)
    expect(await hold(alice, 'a')).toMatchObject({ outcome: 'joined', id: first.id })
    await world.sql(
      `update approvals set status = 'approved', responded_at = clock_timestamp() where id = '${first.id}'`,
    )
    const spend = async (sidecar: Sidecar | undefined) => {
      const path = `${SYNC_PATHS.holds}/${first.id}/spend`
      const reply = await sidecar?.control.client.post(path, { binding: 'a'.repeat(64) })
      return at<boolean>(JSON.parse(String(reply?.bytes)), 'spent')
    }
    expect([await spend(bob), await spend(alice)]).toEqual([false, true])
  })

  test('is cancelled by a kill switch for its claim, also when the claim came after it; others stay', async () => {
    const pod = world.pod({ name: 'warm-4', serviceAccount: 'default' })
    const dave = await world.sidecar(pod, owned('warm-4'))
    await eventually('the instance', () => dave.instances[0] ?? null)
    const [early, other] = [await hold(dave, 'b'), await hold(bob, 'c')]
    await world.report({ pod, ...owned('warm-4', 'dave') })
    await kill('claim:team/dave')
    await eventually('cancelled', async () => (await statusOf(early.id)) === 'cancelled' || null)
    expect(await statusOf(other.id)).toBe('pending')
    expect(await hold(dave, 'd')).toMatchObject({ status: 403 })
    expect(await hold(bob, 'd')).toMatchObject({ status: 200 })
    await kill()
  })
})
