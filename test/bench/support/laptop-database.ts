import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { bumpVersion } from '../../../controlplane/db/config-version.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { eventually } from '../../support/eventually.ts'
import type { Laptop } from '../../support/laptop.ts'

/** The database of an installation, to put in what would take hours over the API. */
export function openLaptopDatabase(laptop: Laptop): Promise<Db> {
  const password = readFileSync(`${laptop.data}/keys/postgres.password`, 'utf8').trim()
  const port = readFileSync(`${laptop.data}/postgres/postmaster.pid`, 'utf8').split('\n')[3]
  const url = `postgres://chaperone:${password}@127.0.0.1:${port}/chaperone`
  return openDb({ url, log: pino({ level: 'silent' }), max: 2 })
}

/** So many permissions for the local gateway; resolves once it decides with them. */
export async function addRules(laptop: Laptop, db: Db, count: number): Promise<void> {
  await db.tx(async (q) => {
    await q.query(
      `insert into permissions (id, org_id, gateway_id, connector_type, action_pattern, decision)
       select 'perm_bench' || n, org_id, id, 'llm_a', 'llm_a.made_up_' || n || '.create', 'allow'
       from gateways, generate_series(1, $1) as n where name = 'default/local'`,
      [count],
    )
    await bumpVersion(q)
  })
  await applied(laptop, db)
}

/** Changes one of them: the gateway is sent its section anew and builds its snapshot again. */
export async function changeRule(db: Db, n: number): Promise<void> {
  await db.tx(async (q) => {
    await q.query(
      `update permissions set decision = case decision when 'allow' then 'deny' else 'allow' end where id = $1`,
      [`perm_bench${n}`],
    )
    await bumpVersion(q)
  })
}

/** Until the gateway says that it decides with the newest configuration. */
export async function applied(laptop: Laptop, db: Db): Promise<void> {
  const { rows } = await db.query<{ version: number }>('select version from config_version', [])
  const newest = rows[0]?.version ?? Number.POSITIVE_INFINITY
  const token = readFileSync(`${laptop.data}/gateway.token`, 'utf8').trim()
  await eventually(
    `snapshot ${newest}`,
    async () => {
      const headers = { authorization: `Bearer ${token}` }
      const answer = await fetch(`${laptop.ready.gateway_url}/internal/status`, { headers })
      const { snapshot_version } = (await answer.json()) as { snapshot_version: number | null }
      return snapshot_version !== null && snapshot_version >= newest ? true : null
    },
    60_000,
  )
}
