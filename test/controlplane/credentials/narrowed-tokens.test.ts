import pino from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { MintError } from '../../../controlplane/features/credentials/minting/mint.ts'
import type {
  Narrowed,
  NarrowRequest,
} from '../../../controlplane/features/credentials/minting/narrowing/github-app.ts'
import {
  createNarrowedTokens,
  type NarrowedTokens,
} from '../../../controlplane/features/credentials/minting/narrowing/narrowed-tokens.ts'
import { storeMinted, storeMintFailure } from '../../../controlplane/features/credentials/minting/store.ts'
import { getMinted, type MintedRow, sourceHash } from '../../../controlplane/features/credentials/rows.ts'
import { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

const GATEWAY = { id: 'gw_1', name: 'default/local' }
const keyring = createKeyring(Buffer.alloc(32, 7))
const log = pino({ level: 'silent' })
const spec = ConnectorSpec.parse({
  type: 'codehost',
  credential: { vault: 'app', githubApp: { appId: 'a', installationId: 1 } },
})
const hash = sourceHash(keyring, spec.credential, 'stored')

let postgres: TestPostgres
let db: Db
let orgId: string
let tokens: NarrowedTokens
let requests: NarrowRequest[]
let answer: () => Narrowed

beforeAll(async () => {
  postgres = await workerPostgres()
  const { url } = await postgres.createMigratedDatabase()
  db = await openDb({ url, log })
  orgId = (await db.tx((q) => ensureOrg(q))).id
})
beforeEach(async () => {
  await db.query('delete from connectors', [])
  await connector('con', '{}', spec)
  await db.query(`insert into minted_credentials (connector_id, org_id) values ('con', $1)`, [orgId])
  await mint()
  requests = []
  answer = () => ({ secret: `secret ${requests.length}`, lifetimeMs: 3_600_000, scope: ['acme/site'] })
  tokens = createNarrowedTokens({
    ...{ db, orgId, keyring, log, newTokenId: () => 'tok_1' },
    clock: { nowMs: Date.now, monotonicMs: () => performance.now() },
    mint: async (request) => {
      requests.push(request)
      return answer()
    },
  })
})
afterAll(async () => {
  await db?.close()
  await postgres?.stop()
})

async function connector(id: string, gatewayIds: string, stated: ConnectorSpec): Promise<void> {
  await db.query(
    `insert into connectors (id, org_id, name, type, gateway_ids, spec, credential, source, lost_domains)
     values ($1, $2, 'default/' || $1, 'codehost', $3, $4, $5, 'file', '{}')`,
    [id, orgId, gatewayIds, JSON.stringify(stated), JSON.stringify(keyring.seal('stored', id))],
  )
}

async function claimed(): Promise<MintedRow> {
  const row = await getMinted(db, 'con')
  if (row === undefined) throw new Error('the Connector has no row')
  return row
}

/** Stores a new secret of the Connector, which has the next number. */
async function mint(): Promise<void> {
  await storeMinted(db, {
    claimed: await claimed(),
    ...{ connectorId: 'con', sourceHash: hash, secret: {} as never, rotated: null },
    ...{ expiresInMs: 3_000_000, dueInMs: 2_000_000, isSame: false },
  })
}

function get(type = 'codehost.pr.merge', target: string | null = 'acme/site', connectorId = 'con') {
  const actions = [{ type, target, changes_workflows: false }]
  return tokens.get(GATEWAY, { connector_id: connectorId, actions, reads_more: false })
}

test('the control plane derives the need from action and target, and mints one token for it', async () => {
  expect(await get()).toMatchObject({
    outcome: 'issued',
    token: { id: 'tok_1', secret: 'secret 1', serial: 1, source: hash, scope: ['acme/site'] },
  })
  expect(await get()).toMatchObject({ token: { secret: 'secret 1' } })
  expect(requests.map(({ need, secret }) => ({ need, secret }))).toEqual([
    {
      secret: 'stored',
      need: {
        ...{ repositories: ['acme/site'], readsMore: false },
        permissions: ['contents:write', 'pull_requests:write'],
      },
    },
  ])
  expect(tokens.counts()).toEqual(new Map([['default/con', 1]]))
  const { rows } = await db.query<{ details: object }>('select details from audit_events', [])
  expect(rows.map(({ details }) => details)).toEqual([
    expect.objectContaining({
      ...{ change: 'credential.narrowed', connector: 'default/con', gateway: 'default/local' },
      ...{ credential: 'tok_1', serial: 1, source: 'githubApp', scope: ['acme/site'] },
    }),
  ])
  expect(JSON.stringify(rows)).not.toContain('secret 1')
})

test('a new secret of the Connector ends the use of its narrowed tokens', async () => {
  await get()
  await mint()
  expect(await get()).toMatchObject({ token: { secret: 'secret 2', serial: 2 } })
})

test('a Connector of another Gateway, without narrowed tokens or without a stored secret has none', async () => {
  await connector('elsewhere', '{gw_2}', spec)
  const plain = ConnectorSpec.parse({
    type: 'codehost',
    credential: { vault: 'app', githubApp: { appId: 'a', installationId: 1, narrow: false } },
  })
  await connector('plain', '{gw_1}', plain)
  await connector('empty', '{gw_1}', spec)
  await db.query(`update connectors set credential = null where id = 'empty'`, [])
  for (const id of ['elsewhere', 'plain', 'empty', 'unknown'])
    expect(await get('codehost.pr.merge', 'acme/site', id), id).toMatchObject({ outcome: 'unavailable' })
  expect(requests).toEqual([])
})

test('an action without known permissions has the token of the Connector, without an exchange', async () => {
  expect(await get('codehost.search.code', null)).toMatchObject({
    outcome: 'whole',
    reason: expect.stringContaining('codehost.search.code'),
  })
  expect(requests).toEqual([])
})

test('a failure of the source is its error, is not cached, and has no secret in its text', async () => {
  answer = () => {
    throw new MintError('The source is down.')
  }
  expect(await get()).toEqual({ outcome: 'unavailable', reason: 'The source is down.' })
  answer = () => {
    throw new Error('private text of a library')
  }
  expect(JSON.stringify(await get())).not.toContain('private text')
  answer = () => ({ secret: 'late', lifetimeMs: 3_600_000, scope: [] })
  expect(await get()).toMatchObject({ token: { secret: 'late' } })
})

test.each([
  ['not due yet', 60_000],
  ['due', -1],
])(
  'while the credential of the Connector cannot be minted and the next attempt is %s, no token is requested',
  async (_, dueInMs) => {
    await storeMintFailure(db, {
      claimed: await claimed(),
      ...{ connectorId: 'con', sourceHash: hash, error: 'The source refused.', rotated: null, dueInMs },
    })
    expect(await get()).toEqual({ outcome: 'unavailable', reason: 'The source refused.' })
    expect(requests).toEqual([])
  },
)

test('a token of less than 1 s is a failure', async () => {
  answer = () => ({ secret: 'short', lifetimeMs: 900, scope: [] })
  expect(await get()).toMatchObject({ outcome: 'unavailable' })
})
