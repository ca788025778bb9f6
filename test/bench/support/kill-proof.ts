import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { makeAgents, startDurableBed, startPlane, startPostgresIn, stopAll } from './durable-bed.ts'
import { openPlainClient, postRequest } from './plain-http.ts'

const SPEC = {
  type: 'codehost.issue.create',
  resource: { provider: 'codehost', target: 'acme/site' },
  parameters: { title: 'kept' },
}
const CONNECTIONS = 32

/**
 * Submits in closed loop, ends the control plane and every process of the database with SIGKILL in the middle, starts
 * the database again and counts what was acknowledged and is not there: the action, its nonce, its two audit events.
 */
export async function whatKillLoses(
  folder: string,
  rounds: number,
): Promise<ReadonlyArray<{ readonly figure: string; readonly count: number }>> {
  let acknowledged = 0
  let lost = 0
  for (let round = 0; round < rounds; round += 1) {
    const done = await killOnce(`${folder}-${round}`, 300 + 1_000 * round)
    acknowledged += done.acknowledged
    lost += done.lost
  }
  if (acknowledged === 0)
    throw new Error('nothing was acknowledged before the kill: the proof proves nothing')
  return [{ figure: `lost after kill -9, of ${acknowledged} acknowledged actions`, count: lost }]
}

async function killOnce(folder: string, after: number): Promise<{ acknowledged: number; lost: number }> {
  const bed = await startDurableBed(folder)
  const plane = await startPlane(bed, bed.postgres.url)
  const agents = await makeAgents(bed, 6_000)
  const ids: string[] = []
  const lanes = Array.from({ length: CONNECTIONS }, (_, lane) =>
    submitUntilCut(plane.port, { agents, lane, ids }),
  )
  while (ids.length < after) await sleep(5)
  const backends = await bed.sql.query<{ pid: number }>('select pid from pg_stat_activity')
  process.kill(plane.pid, 'SIGKILL')
  for (const pid of [bed.postgres.pid, ...backends.rows.map((row) => row.pid)]) killIfThere(pid)
  await Promise.all(lanes)
  await bed.postgres.exited
  await bed.sql.end()
  const lost = await countMissing(folder, ids)
  await stopAll([plane])
  rmSync(folder, { recursive: true, force: true })
  return { acknowledged: ids.length, lost }
}

/** A backend of ours may have ended by itself once its postmaster was gone. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

type Lane = { readonly agents: ReadonlyArray<{ key: string }>; readonly lane: number; readonly ids: string[] }

async function submitUntilCut(port: number, { agents, lane, ids }: Lane): Promise<void> {
  const client = await openPlainClient(port)
  for (let sent = lane; ; sent += CONNECTIONS) {
    const request = postRequest('/api/v1/actions', { action_spec: SPEC }, agents[sent % agents.length]?.key)
    const answer = await client.send(request).catch(() => null)
    if (answer === null) break
    if (answer.status === 200)
      ids.push((JSON.parse(answer.body) as { action_request_id: string }).action_request_id)
  }
  client.close()
}

async function countMissing(folder: string, ids: readonly string[]): Promise<number> {
  const postgres = await startPostgresIn(folder)
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  const { rows } = await client.query<{ missing: number }>(
    `select count(*)::int as missing from unnest($1::text[]) as wanted(id) where not exists (
       select from action_requests a join nonces n on n.act_id = a.id where a.id = wanted.id)
     or (select count(*) from audit_events e where e.action_request_id = wanted.id) <> 2`,
    [ids],
  )
  await client.end()
  await postgres.stop()
  return rows[0]?.missing ?? ids.length
}
