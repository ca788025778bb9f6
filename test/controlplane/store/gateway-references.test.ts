import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from '../../../controlplane/db/migrate.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import { GatewaySpec } from '../../../core/crd/gateway-spec.ts'
import { PolicySpec } from '../../../core/crd/policy/policy-spec.ts'
import { PermissionSpec } from '../../../core/crd/schemas.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

let postgres: TestPostgres
let db: Db

beforeAll(async () => {
  postgres = await workerPostgres()
  db = await openDb({ url: (await postgres.createDatabase()).url, log: pino({ level: 'silent' }) })
})
afterAll(async () => {
  await db.close()
  await postgres.stop()
})

const RULES = [{ connectorType: 'chat', actionPattern: 'chat.*', decision: 'deny' }]
const BEFORE = [
  ['Gateway', { allowedNamespaces: { permissions: ['a', 'b'], policies: [] } }],
  ['Gateway', {}],
  ['Connector', { type: 'chat', gateways: ['one', 'two'] }],
  ['Connector', { type: 'chat' }],
  ['Permission', { gateway: 'one', rules: RULES }],
  ['Policy', { targetRefs: [{ kind: 'Gateway', name: 'one', namespace: 'a' }], rules: [] }],
  ['Policy', { rules: [] }],
] as const

test('stored objects with the earlier fields become objects of the present schemas', async () => {
  await migrate(db, undefined, (number) => number < 42)
  const { id: orgId } = await db.tx((q) => ensureOrg(q))
  for (const [at, [kind, spec]] of BEFORE.entries()) {
    await db.query(
      `insert into desired (kind, namespace, name, uid, generation, source, managed_by, accepted, reasons, spec)
       values ($1, 'a', $2, 'u', 1, 'file', 'f', true, '{}', $3)`,
      [kind, `n${at}`, JSON.stringify({ spec, credential: null, warnings: [] })],
    )
    const table = { Gateway: 'gateways', Connector: 'connectors' }[kind as string]
    if (table === undefined) continue
    const columns = kind === 'Connector' ? ', type' : ''
    const values = kind === 'Connector' ? ", 'chat'" : ''
    await db.query(
      `insert into ${table} (id, org_id, name, spec, source${columns}) values ($1, $2, $3, $4, 'file'${values})`,
      [`${kind}-${at}`, orgId, `a/n${at}`, JSON.stringify(spec)],
    )
  }
  await migrate(db)
  const { rows } = await db.query<{ kind: string; name: string; stored: { spec: never } }>(
    'select kind, name, spec as stored from desired order by name',
    [],
  )
  const specs = new Map(rows.map(({ name, stored }) => [name, stored.spec as object | undefined]))
  const none = { from: 'Same', names: [] }
  const allowed = {
    permissions: { from: 'Selector', names: ['a', 'b'] },
    ...{ policies: none, connectors: none, agents: none },
  }
  expect(GatewaySpec.parse(specs.get('n0')).allowedNamespaces).toEqual(allowed)
  expect(GatewaySpec.parse(specs.get('n1')).allowedNamespaces).toBeUndefined()
  expect(ConnectorSpec.parse(specs.get('n2')).gatewayRefs).toEqual([{ name: 'one' }, { name: 'two' }])
  expect(ConnectorSpec.parse(specs.get('n3')).gatewayRefs).toBeUndefined()
  expect(PermissionSpec.parse(specs.get('n4')).gatewayRefs).toEqual([{ name: 'one' }])
  const rules = [{ name: 'r', decision: 'deny' }]
  expect(PolicySpec.parse({ ...specs.get('n5'), rules }).gatewayRefs).toEqual([
    { name: 'one', namespace: 'a' },
  ])
  expect(PolicySpec.parse({ ...specs.get('n6'), rules }).gatewayRefs).toBeUndefined()
  const tables = await db.query<{ spec: never }>(
    'select spec from gateways union all select spec from connectors',
    [],
  )
  expect(tables.rows).toHaveLength(4)
  for (const { spec } of tables.rows)
    expect(Object.keys(spec)).not.toEqual(expect.arrayContaining(['gateways']))
})
