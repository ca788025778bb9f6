import { expect, test } from 'vitest'
import { sealedPlace } from '../../../controlplane/crypto/sealed-places.ts'
import { SEALED_COLUMNS } from '../../../controlplane/db/sealed-columns.ts'
import { SEALED_ROWS } from '../../support/sealed-rows.ts'

/** A value for each column of a primary key, so that a context shows which columns it has. */
const contextOf = (key: readonly string[], place: (row: Record<string, string>) => string) =>
  place(Object.fromEntries(key.map((name) => [name, `<${name}>`])))

test('every context of an encrypted secret belongs to a column that a rotation of the master key encrypts again', () => {
  const contexts = SEALED_COLUMNS.map(({ key, place }) => contextOf(key, place))
  expect(contexts.toSorted()).toEqual([
    '<id>',
    '<kid>',
    'credential/<name>',
    'desired/<kind>/<namespace>/<name>',
    'minted/<connector_id>/rotated',
    'minted/<connector_id>/secret',
    'notification channel <name>',
    'outbox <event_id>',
    'push subscription <id>',
    'setting <key>',
    'tokens of <user_id> at the identity provider',
    'webhook <id>',
  ])
  // The context of minted secrets is that of two columns.
  expect(Object.keys(sealedPlace)).toHaveLength(contexts.length - 1)
  // The signing key of an installation exists from its first start.
  expect(SEALED_ROWS).toBe(contexts.length - 1)
})
