import { sealedPlace } from '../crypto/sealed-places.ts'

/** A column whose values are encrypted with a master key. */
export type SealedColumn = {
  readonly table: string
  /** Columns of the primary key, in order. All of them are of type text. */
  readonly key: readonly string[]
  /** SQL expression of the encrypted value. */
  readonly value: string
  /** SQL assignment that replaces the value by the parameter `$1`. */
  readonly assignment: string
  /** Returns the context (additional authenticated data) with which the value of a row is encrypted. */
  place(key: Readonly<Record<string, string>>): string
}

type Plain = readonly [table: string, column: string, key: readonly string[], place: SealedColumn['place']]

const PLAIN: readonly Plain[] = [
  ['settings', 'value', ['org_id', 'key'], ({ key = '' }) => sealedPlace.setting(key)],
  ['signing_keys', 'private_key', ['kid'], ({ kid = '' }) => sealedPlace.signingKey(kid)],
  ['user_identities', 'tokens', ['user_id'], (row) => sealedPlace.identityTokens(row['user_id'] ?? '')],
  ['connectors', 'credential', ['id'], ({ id = '' }) => sealedPlace.connector(id)],
  ['action_requests', 'webhook', ['id'], ({ id = '' }) => sealedPlace.actionWebhook(id)],
  ['outbox', 'url', ['event_id'], (row) => sealedPlace.outboxUrl(row['event_id'] ?? '')],
  ['credentials', 'secret', ['org_id', 'name'], ({ name = '' }) => sealedPlace.credential(name)],
  [
    'notification_channels',
    'config',
    ['org_id', 'name'],
    ({ name = '' }) => sealedPlace.notificationChannel(name),
  ],
  [
    'minted_credentials',
    'secret',
    ['connector_id'],
    (row) => sealedPlace.minted(row['connector_id'] ?? '', 'secret'),
  ],
  [
    'minted_credentials',
    'rotated',
    ['connector_id'],
    (row) => sealedPlace.minted(row['connector_id'] ?? '', 'rotated'),
  ],
  ['push_subscriptions', 'keys', ['id'], ({ id = '' }) => sealedPlace.pushSubscription(id)],
]

/** Every column with encrypted values. A rotation of the master key encrypts them again. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  ...PLAIN.map(([table, column, key, place]) => ({
    table,
    key,
    place,
    value: column,
    assignment: `${column} = $1::jsonb`,
  })),
  {
    table: 'manifest_objects',
    key: ['kind', 'namespace', 'name'],
    value: "stored->'credential'",
    assignment: "stored = jsonb_set(stored, '{credential}', $1::jsonb)",
    place: ({ kind = '', namespace = '', name = '' }) => sealedPlace.manifest({ kind, namespace, name }),
  },
]
