import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { ControlPlaneProcess } from '../../support/control-plane-process.ts'
import { type DurableInstallation, startDurableInstallation } from '../../support/durable-installation.ts'
import { eventually } from '../../support/eventually.ts'
import { seeded, size } from '../../support/proof.ts'
import { ALLOWED, DESTRUCTIVE, RISKY } from '../v1/world.ts'

const KILLS = size(2, 60)
const SEED = 20_261_121
/** The full proof is for a night, on a machine that may have other work. */
vi.setConfig({ testTimeout: size(600_000, 3_600_000) })

let here: DurableInstallation
let agents: readonly { readonly id: string; readonly key: string }[]

beforeAll(async () => {
  here = await startDurableInstallation({ LOG_LEVEL: 'fatal' })
  const first = await here.start()
  agents = await Promise.all(Array.from({ length: 4 }, () => here.agent(first)))
  await first.kill()
})
afterAll(() => here?.[Symbol.asyncDispose]())

/** Replies that callers received, which must hold after a crash. */
const acknowledged = {
  actions: new Map<string, string>(),
  answers: new Map<string, string>(),
  cancelled: new Set<string>(),
  spent: new Set<string>(),
  policies: new Set<string>(),
  agents: new Set<string>(),
}
let imports = 0
const hasEveryKind = () => Object.values(acknowledged).every((kind) => kind.size > 0)
const acknowledgements = () => Object.values(acknowledged).reduce((sum, one) => sum + one.size, 0)

type Steps = {
  readonly plane: ControlPlaneProcess
  readonly random: () => number
  readonly isOver: () => boolean
}

/** One caller's stream of work until the process is gone. A step that nobody acknowledged may have happened or not. */
async function stream({ plane, random, isOver }: Steps): Promise<void> {
  while (!isOver()) {
    const key = agents[Math.floor(random() * agents.length)]?.key ?? ''
    await [submit, submit, batch, importBundle][Math.floor(random() * 4)]!(plane, key, random).catch(
      () => undefined,
    )
  }
}

async function post(plane: ControlPlaneProcess, path: string, key: string, body: unknown, headers = {}) {
  const reply = await here.send(plane.url, 'POST', path, { key, body, headers })
  if (reply.status !== 200) throw new Error(reply.text)
  return reply.body
}

async function submit(plane: ControlPlaneProcess, key: string, random: () => number): Promise<void> {
  const action_spec = [ALLOWED, RISKY, DESTRUCTIVE][Math.floor(random() * 3)]
  const body = await post(plane, '/api/v1/actions', key, { action_spec })
  const id = String(body['action_request_id'])
  acknowledged.actions.set(id, String(body['status']))
  if (body['status'] === 'denied') return
  if (random() < 0.2) {
    await post(plane, `/api/v1/actions/${id}/cancel`, key, undefined)
    acknowledged.cancelled.add(id)
    return
  }
  if (body['status'] === 'pending_approval') return respond(plane, body['approval'] as { id: string }, random)
  const token = { decision_token: body['decision_token'], action_request_id: id }
  if ((await post(plane, '/api/v1/tokens/verify', key, token))['valid'] === true) acknowledged.spent.add(id)
}

async function respond(
  plane: ControlPlaneProcess,
  { id }: { id: string },
  random: () => number,
): Promise<void> {
  const decision = random() < 0.5 ? 'approve' : 'deny'
  const body = await post(plane, `/api/v1/approvals/${id}/respond`, here.adminToken, { decision })
  acknowledged.answers.set(id, String(body['status']))
}

async function batch(plane: ControlPlaneProcess, key: string): Promise<void> {
  const actions = [ALLOWED, RISKY, DESTRUCTIVE].map((action_spec) => ({ action_spec }))
  const body = await post(plane, '/api/v1/actions/batch', key, { actions })
  for (const result of body['results'] as Record<string, string>[]) {
    acknowledged.actions.set(result['action_request_id'] ?? '', result['status'] ?? '')
  }
}

async function importBundle(plane: ControlPlaneProcess): Promise<void> {
  const number = ++imports
  const policies = Array.from({ length: 5 }, (_, n) => ({
    ...{ name: `imported ${number}.${n}`, priority: 1 },
    policyYaml: "scope: { actions: ['nothing.*'] }\nrules: [{ name: a, decision: deny }]\n",
  }))
  const bundle = { version: '1.0', agents: [{ name: `imported-${number}` }], policies }
  const body = await post(plane, '/api/dashboard/import', here.adminToken, bundle)
  if (body['policies_imported'] !== 5 || body['agents_imported'] !== 1) throw new Error(JSON.stringify(body))
  for (const { name } of policies) acknowledged.policies.add(name)
  acknowledged.agents.add(`imported-${number}`)
}

test(`after ${KILLS} ends by kill -9 at random moments of a stream of actions, answers and imports nothing acknowledged is lost, nothing is there by half, and each change has one audit row`, async () => {
  const random = seeded(SEED)
  for (let kill = 0; kill < KILLS; kill++) {
    // As if a minute had passed: the limit of the agents is not what is tested.
    await here.sql('delete from agent_windows')
    const plane = await here.start()
    let isOver = false
    const streams = Array.from({ length: 6 }, () => stream({ plane, random, isOver: () => isOver }))
    // So far and a moment more, however busy the machine is.
    const goal = acknowledgements() + 5 + random() * 40
    const isEnough = () => acknowledgements() >= goal && (kill < KILLS - 1 || hasEveryKind())
    await eventually('enough acknowledgements', () => isEnough() || null)
    await new Promise((resolve) => setTimeout(resolve, random() * 30))
    await plane.kill()
    isOver = true
    await Promise.all(streams)
  }
  expect(acknowledged.actions.size).toBeGreaterThan(KILLS)

  await everythingAcknowledgedIsThere()
  await everyChangeHasOneEvent()
  await nothingIsThereByHalf()

  // And it goes on from here: what is open can be answered.
  const plane = await here.start()
  const [open] = await here.sql<{ id: string }>("select id from approvals where status = 'pending' limit 1")
  if (open !== undefined) await respond(plane, open, () => 0)
})

async function everythingAcknowledgedIsThere(): Promise<void> {
  const actions = await here.sql<{ id: string; status: string; used: string | null }>(
    'select a.id, status, used_by as used from action_requests a left join nonces n on n.act_id = a.id',
  )
  const stored = new Map(actions.map((row) => [row.id, row]))
  const lost = [...acknowledged.actions.keys()].filter((id) => !stored.has(id))
  expect(lost).toEqual([])
  for (const id of acknowledged.cancelled) expect(stored.get(id)?.status, id).toBe('cancelled')
  for (const id of acknowledged.spent) expect(stored.get(id)?.used, id).toBe('verify')
  for (const [id, status] of acknowledged.actions) {
    if (status === 'denied') expect(stored.get(id)?.status, id).toBe('denied')
  }
  const approvals = await here.sql<{ id: string; status: string }>('select id, status from approvals')
  const answered = new Map(approvals.map((row) => [row.id, row.status]))
  for (const [id, status] of acknowledged.answers) expect(answered.get(id), id).toBe(status)
  const names = async (table: string) =>
    new Set((await here.sql<{ name: string }>(`select name from ${table}`)).map((row) => row.name))
  const [policies, known] = [await names('policies'), await names('agents')]
  expect([...acknowledged.policies].filter((name) => !policies.has(name))).toEqual([])
  expect([...acknowledged.agents].filter((name) => !known.has(name))).toEqual([])
}

/** Both ways: no change without its event or with two, and no event without its change. */
async function everyChangeHasOneEvent(): Promise<void> {
  const wrong = async (text: string) => expect(await here.sql(text), text).toEqual([])
  const events = (type: string) => `(select count(*) from audit_events e where e.action_request_id = a.id
    and e.event_type = ${type})`
  await wrong(`select id from action_requests a where ${events("'action.requested'")} <> 1`)
  // What was decided at once says so; what waited for a person says that, and what the person said.
  await wrong(
    `select id, status from action_requests a where approval_id is null and status <> 'cancelled'
       and ${events("'action.' || status")} <> 1`,
  )
  await wrong(
    `select id, status from action_requests a where approval_id is not null
       and (${events("'action.pending_approval'")} <> 1 or ${events("'action.allowed'")} <> 0)`,
  )
  await wrong(
    `select id, status from action_requests a where ${events("'action.cancelled'")} <> (status = 'cancelled')::int`,
  )
  await wrong(
    `select id, status from approvals p where (status in ('approved', 'denied'))::int <> (select count(*)
       from audit_events e where e.event_type = 'approval.responded' and e.details->>'approval_id' = p.id)`,
  )
  await wrong(
    `select action_request_id from audit_events where action_request_id is not null
       and action_request_id not in (select id from action_requests)`,
  )
  for (const [table, type, field] of [
    ['policies', 'policy.created', 'policy_id'],
    ['agents', 'agent.registered', 'agent_id'],
  ]) {
    await wrong(
      `select id, name from ${table} r where name like 'imported%' and 1 <> (select count(*) from audit_events e
         where e.event_type = '${type}' and coalesce(e.details->>'${field}', e.agent_id) = r.id)`,
    )
  }
}

async function nothingIsThereByHalf(): Promise<void> {
  const [row] = await here.sql<{ agents: number; policies: number; events: number }>(
    `select (select count(*)::int from agents where name like 'imported-%') as agents,
       (select count(*)::int from policies where name like 'imported %') as policies,
       (select count(*)::int from audit_events where event_type = 'config.imported') as events`,
  )
  expect(row?.policies).toBe((row?.agents ?? 0) * 5)
  expect(row?.events).toBe(row?.agents)
  const odd = await here.sql(
    `select a.id from action_requests a left join approvals p on p.id = a.approval_id left join nonces n on n.act_id = a.id
     where (a.status = 'pending_approval') <> coalesce(p.status = 'pending', false)
       or (a.status = 'allowed' and n.jti is null) or (p.status = 'approved' and n.jti is null)`,
  )
  expect(odd).toEqual([])
}
