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
import { Floors } from '../../../core/crd/gateway/floors.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

const FLOORS = Floors.parse({
  enforcementLevel: 'full_enforce',
  defaultDecision: 'deny',
  unmatchedHosts: 'deny',
  failurePolicy: { writesAfterSeconds: 60 },
})
const MILD = {
  enforcementLevel: 'monitor',
  defaultDecision: 'allow',
  egress: { unmatchedHosts: 'tunnel' },
  failurePolicy: { writesAfterSeconds: 86_400, highRiskAfterSeconds: 5 },
}

let postgres: TestPostgres
let db: Db
let library: SectionLibrary
let orgId: string

beforeAll(async () => {
  postgres = await workerPostgres()
  db = await openDb({ url: (await postgres.createMigratedDatabase()).url, log: pino({ level: 'silent' }) })
  await migrate(db)
  orgId = (await db.tx((q) => ensureOrg(q))).id
  const platformNamespaces = new Set(['platform'])
  library = createSectionLibrary({
    db,
    keyring: createKeyring(Buffer.alloc(32, 7)),
    platformNamespaces,
    floorRules: { floors: FLOORS, platformNamespaces },
    organisationToken: { read: async () => null, scope: { kind: 'all' } },
    approvalsChat: async () => ({ channel: null, botToken: null }),
  })
})
afterAll(async () => {
  await db?.close()
  await postgres?.stop()
})

/** The gateway section for a Gateway with the spec, made by a manifest or by the API. */
async function section(name: string, given: object, source: 'api' | 'kubernetes' = 'kubernetes') {
  const managedBy = source === 'api' ? null : `kubernetes Gateway ${name}`
  const id = `gw_${name.replace('/', '_')}`
  await db.tx(async (q) => {
    await upsertGateway(q, { id, orgId, name, spec: GatewaySpec.parse(given), source, managedBy })
    await bumpVersion(q)
  })
  await library.reload()
  return JSON.parse(library.of(id)?.texts.get('gateway') ?? 'null')
}

test.each(['kubernetes', 'api'] as const)(
  'a tenant Gateway below the floors is held at them (source %s)',
  async (source) => {
    expect(await section(`team/${source}`, MILD, source)).toMatchObject({
      enforcementLevel: 'full_enforce',
      defaultDecision: 'deny',
      egress: { unmatchedHosts: 'deny' },
      failurePolicy: { writesAfterSeconds: 60, highRiskAfterSeconds: 5, everythingAfterSeconds: 600 },
    })
  },
)

test('a Gateway of a platform namespace has no floor', async () => {
  expect(await section('platform/main', MILD)).toMatchObject(MILD)
})

test('a row of the API with the name of a platform namespace is held all the same', async () => {
  expect(await section('platform/api', MILD, 'api')).toMatchObject({ enforcementLevel: 'full_enforce' })
})

test('a stricter Gateway stays unchanged', async () => {
  expect(await section('team/strict', { failurePolicy: { writesAfterSeconds: 0 } })).toMatchObject({
    enforcementLevel: 'full_enforce',
    failurePolicy: { writesAfterSeconds: 0 },
  })
})
