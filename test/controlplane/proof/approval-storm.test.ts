import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { ControlPlaneProcess } from '../../support/control-plane-process.ts'
import { type DurableInstallation, startDurableInstallation } from '../../support/durable-installation.ts'
import { count, queueLookups, size } from '../../support/proof.ts'
import { RISKY } from '../v1/world.ts'

const APPROVALS = size(40, 1_000)
const ANSWERS = 16
/** The full proof is for a night, on a machine that may have other work. */
vi.setConfig({ testTimeout: size(300_000, 1_800_000) })
/** 60 requests a minute are an agent's limit. */
const PER_AGENT = 50

let here: DurableInstallation
let planes: readonly [ControlPlaneProcess, ControlPlaneProcess]

beforeAll(async () => {
  here = await startDurableInstallation({ LOG_LEVEL: 'fatal' })
  planes = [await here.start(), await here.start()]
})
afterAll(() => here?.[Symbol.asyncDispose]())

const planeOf = (index: number) => planes[index % 2] as ControlPlaneProcess

async function openApprovals(): Promise<string[]> {
  const agents = await Promise.all(
    Array.from({ length: Math.ceil(APPROVALS / PER_AGENT) }, () => here.agent(planes[0])),
  )
  return queueLookups(Array.from({ length: APPROVALS }), 8, async (_, index) => {
    const key = agents[Math.floor(index / PER_AGENT)]?.key ?? ''
    const body = { action_spec: RISKY }
    const reply = await here.send(planeOf(index).url, 'POST', '/api/v1/actions', { key, body })
    const { id } = (reply.body['approval'] ?? {}) as { id?: string }
    if (id === undefined) throw new Error(reply.text)
    return id
  })
}

test(`${APPROVALS} approvals, each answered ${ANSWERS} times at once at two replicas with yes and no, have one result and one audit row each`, async () => {
  const ids = await openApprovals()
  const results = await queueLookups(ids, 8, (id) =>
    Promise.all(
      Array.from({ length: ANSWERS }, async (_, n) => {
        const decision = n % 4 < 2 ? 'approve' : 'deny'
        const path = `/api/v1/approvals/${id}/respond`
        const reply = await here.send(planeOf(n).url, 'POST', path, {
          key: here.adminToken,
          body: { decision },
        })
        return { decision, ...reply }
      }),
    ),
  )
  const winners = results.map((answers) => answers.filter(({ status }) => status === 200))
  expect(count(winners.map((list) => list.length))).toEqual(new Map([[1, APPROVALS]]))
  const others = results.flat().filter(({ status }) => status !== 200)
  expect(count(others.map(({ status }) => status))).toEqual(new Map([[409, APPROVALS * (ANSWERS - 1)]]))
  expect(others.every(({ body }) => body['error'] === 'Approval already resolved')).toBe(true)

  const rows = await here.sql<{
    id: string
    status: string
    events: string
    approved: string
    action: string
  }>(
    `select p.id, p.status, a.status as action,
       (select count(*) from audit_events e where e.action_request_id = p.act_id
         and e.event_type = 'approval.responded') as events,
       (select min(e.details->>'approved') from audit_events e where e.action_request_id = p.act_id
         and e.event_type = 'approval.responded') as approved
     from approvals p join action_requests a on a.id = p.act_id`,
  )
  const stored = new Map(rows.map((row) => [row.id, row]))
  for (const [index, id] of ids.entries()) {
    const [winner] = winners[index] ?? []
    const isYes = winner?.decision === 'approve'
    const status = isYes ? 'approved' : 'denied'
    expect(winner?.body).toMatchObject({ approval_id: id, status })
    expect(typeof winner?.body['decision_token']).toBe(isYes ? 'string' : 'object')
    const action = isYes ? 'allowed' : 'denied'
    expect(stored.get(id)).toEqual({ id, status, events: '1', approved: String(isYes), action })
  }
})

test('the audit log refuses change and removal to the role of the application, and grows on', async () => {
  const [before] = await here.sql<{ count: string; role: string }>(
    'select count(*), current_user as role from audit_events group by 2',
  )
  expect(Number(before?.count)).toBeGreaterThan(APPROVALS)
  // The one that the control planes use themselves.
  expect(before?.role).toBe(new URL(here.databaseUrl).username)
  for (const statement of [
    "update audit_events set details = '{}'",
    'update audit_events set created_at = now() where id = 1',
    'delete from audit_events',
    'delete from audit_events where id = 1',
    'truncate audit_events',
    'with gone as (delete from audit_events returning id) select count(*) from gone',
    'merge into audit_events using (select 1) as s on true when matched then delete',
    "insert into audit_events overriding system value (select * from audit_events where id = 1) on conflict (org_id, id) do update set details = '{}'",
  ]) {
    await expect(here.sql(statement), statement).rejects.toThrow(/permission denied for table audit_events/)
  }
  const [after] = await here.sql<{ count: string }>('select count(*) from audit_events')
  expect(after?.count).toBe(before?.count)
})
