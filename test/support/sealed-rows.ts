import type { Keyring } from '../../controlplane/crypto/keyring.ts'
import type { Sealed } from '../../controlplane/crypto/sealed.ts'

type Sql = (text: string, values?: unknown[]) => Promise<readonly Record<string, unknown>[]>

const USER = `insert into users (id, org_id, email, name, role, password_hash) select 'user_x', id, 'x@x.test', 'X', 'member', 'x' from orgs`

const SPEC = '{"type":"generic","domains":["x.test"]}'

/** A row for each encrypted column: the context of its value, the insert ($1 is the value), and the read. */
const ROWS: readonly (readonly [place: string, insert: string, read: string])[] = [
  [
    'setting codehost_pat',
    `insert into settings (org_id, key, value) select id, 'codehost_pat', $1 from orgs`,
    `select value as v from settings where key = 'codehost_pat'`,
  ],
  [
    'tokens of user_x at the identity provider',
    `insert into user_identities (user_id, issuer, subject, tokens) values ('user_x', 'i', 's', $1)`,
    `select tokens as v from user_identities`,
  ],
  [
    'conn_x',
    `insert into connectors (id, org_id, name, type, spec, credential) select 'conn_x', id, 'x', 'generic', '${SPEC}', $1 from orgs`,
    `select credential as v from connectors where id = 'conn_x'`,
  ],
  [
    'desired/Connector/default/x',
    `insert into manifest_objects (kind, namespace, name, uid, generation, source, managed_by, accepted, stored, refs)
     values ('Connector', 'default', 'x', 'u', 1, 'file', 'x.yaml', true, jsonb_build_object('credential', $1::jsonb, 'kept', 1, 'spec', '${SPEC}'::jsonb, 'warnings', '[]'::jsonb), '{}')`,
    `select stored->'credential' as v from manifest_objects where stored->>'kept' = '1'`,
  ],
  [
    'webhook act_x',
    `insert into action_requests (id, org_id, agent_id, agent, status, action_spec, decision, connector, webhook)
     select 'act_x', id, 'a', 'a', 'denied', '{}', '{}', 'c', $1 from orgs`,
    `select webhook as v from action_requests where id = 'act_x'`,
  ],
  [
    'outbox ntf_x',
    `insert into outbox (event_id, org_id, kind, order_key, receiver, url, event, subject_id, state)
     select 'ntf_x', id, 'webhook', 'o', 'l', $1, 'e', 's', 'delivered' from orgs`,
    `select url as v from outbox where event_id = 'ntf_x'`,
  ],
  [
    'credential/x',
    `insert into credentials (org_id, name, secret) select id, 'x', $1 from orgs`,
    `select secret as v from credentials where name = 'x'`,
  ],
  [
    'notification channel email',
    `insert into notification_channels (org_id, name, config) select id, 'email', $1 from orgs`,
    `select config as v from notification_channels where name = 'email'`,
  ],
  [
    'minted/conn_x/secret',
    `insert into minted_credentials (connector_id, org_id, secret) select 'conn_x', id, $1 from orgs`,
    `select secret as v from minted_credentials`,
  ],
  [
    'minted/conn_x/rotated',
    `update minted_credentials set rotated = $1`,
    `select rotated as v from minted_credentials`,
  ],
  [
    'push subscription push_x',
    `insert into push_subscriptions (id, org_id, user_id, host, endpoint_sha256, keys)
     select 'push_x', id, 'user_x', 'h', 's', $1 from orgs`,
    `select keys as v from push_subscriptions`,
  ],
]

export const SEALED_ROWS = ROWS.length

const secretOf = (place: string) => `secret of ${place}`

/** Stores one encrypted value in each column that has such values, as this keyring encrypts them. */
export async function insertSealedRows(sql: Sql, keyring: Keyring): Promise<void> {
  await sql(USER)
  for (const [place, insert] of ROWS)
    await sql(insert, [JSON.stringify(keyring.seal(secretOf(place), place))])
}

/** Decrypts every stored value. Returns the ids of the keys that encrypt them; throws when one does not decrypt. */
export async function openSealedRows(sql: Sql, keyring: Keyring): Promise<readonly string[]> {
  const ids: string[] = []
  for (const [place, , read] of ROWS) {
    const sealed = (await sql(read))[0]?.['v'] as Sealed | undefined
    if (sealed === undefined) throw new Error(`the value of ${place} is gone`)
    if (keyring.open(sealed, place) !== secretOf(place)) throw new Error(`${place} has another secret`)
    ids.push(sealed.key_id)
  }
  return ids
}

/** Returns the tables in which this key encrypts a value, whatever their columns are. */
export async function tablesWithKey(sql: Sql, keyId: string): Promise<readonly string[]> {
  const tables = await sql(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
     and not relispartition order by 1`,
  )
  const found: string[] = []
  for (const { name } of tables) {
    const rows = await sql(`select 1 from ${String(name)} t where t::text like $1 limit 1`, [
      `%""key_id"": ""${keyId}"", ""ciphertext""%`,
    ])
    if (rows.length > 0) found.push(String(name))
  }
  return found
}
