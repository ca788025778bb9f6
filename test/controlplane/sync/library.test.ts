import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { bumpVersion } from '../../../controlplane/db/config-version.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { upsertGateway } from '../../../controlplane/features/gateways/store.ts'
import { createSectionLibrary, type SectionLibrary } from '../../../controlplane/sync/sections/library.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

let postgres: TestPostgres
let db: Db
let library: SectionLibrary
let orgId: string

beforeAll(async () => {
  postgres = await workerPostgres()
  const log = pino({ level: 'silent' })
  db = await openDb({ url: (await postgres.createMigratedDatabase()).url, log })
  await migrate(db)
  orgId = (await db.tx((q) => ensureOrg(q))).id
  library = createSectionLibrary({
    db,
    keyring: createKeyring(Buffer.alloc(32, 7)),
    organisationToken: { read: async () => null, scope: { kind: 'all' } },
    approvalsChat: async () => ({ channel: null, botToken: null }),
  })
})
afterAll(async () => {
  await db?.close()
  await postgres?.stop()
})

async function change(level: GatewaySpec['enforcementLevel'] | null): Promise<number> {
  const version = await db.tx(async (q) => {
    if (level !== null) {
      const spec = GatewaySpec.parse({ enforcementLevel: level })
      await upsertGateway(q, {
        id: 'gw_1',
        orgId,
        name: 'default/local',
        spec,
        source: 'api',
        managedBy: null,
      })
    }
    return bumpVersion(q)
  })
  await library.reload()
  return version
}

test('a set keeps the version at which its content last changed, whatever changes elsewhere', async () => {
  const first = await change('monitor')
  expect(library.of('gw_1')?.version).toBe(first)
  await change(null)
  await change(null)
  const later = await change(null)
  expect(library.version).toBe(later)
  expect(library.of('gw_1')?.version).toBe(first)
  const changed = await change('full_enforce')
  expect(library.of('gw_1')?.version).toBe(changed)
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

test('the texts of a set are released after a reload, although no process reads the set again', async () => {
  const first = await change('monitor')
  const textsOf = () => new WeakRef(library.of('gw_1')?.texts ?? {})
  const texts = textsOf()
  await change('full_enforce')
  await eventually('the release of the texts', () => {
    collect()
    return texts.deref() === undefined ? true : null
  })
  await change('monitor')
  expect(library.of('gw_1')?.version).toBe(first)
})

test('the sections of 10,000 permissions are built between other work', async () => {
  const statement = `insert into permissions (id, org_id, gateway_id, agent, connector_type, action_pattern, decision, source)
    select 'perm_' || n, $1, 'gw_1', '*', 'llm_a', 'llm_a.action' || n, 'allow', 'api' from generate_series(1, 10000) as n`
  await db.query(statement, [orgId])
  await change('monitor')
  let turns = 0
  const count = setInterval(() => {
    turns += 1
  }, 0)
  try {
    // The reload has built the sections of the gateway process, which `of` was called for above.
    const receiver = { agent: 'bot' }
    await library.prepare('gw_1', receiver)
    expect(turns).toBeGreaterThan(1)
    expect(library.of('gw_1', receiver)?.texts.size).toBeGreaterThan(16)
  } finally {
    clearInterval(count)
    await db.query("delete from permissions where id like 'perm_%'", [])
  }
})
