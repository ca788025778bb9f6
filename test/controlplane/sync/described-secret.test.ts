import { expect, test } from 'vitest'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import type { ConnectorRow } from '../../../controlplane/features/connectors/rows.ts'
import { describedSecret, storedSource } from '../../../controlplane/sync/sections/minted-fields.ts'
import { ConnectorSpec } from '../../../core/crd/connector-spec.ts'

const keyring = createKeyring(Buffer.alloc(32, 7))

function row(source: ConnectorRow['source'], credential?: object, id = 'con_1'): ConnectorRow {
  const spec = ConnectorSpec.parse({
    ...{ type: 'generic', domains: ['a.test'] },
    ...(credential === undefined ? {} : { credential }),
  })
  return {
    ...{ id, orgId: 'org_1', name: 'default/a', type: 'generic', gatewayIds: [], lostDomains: {}, spec },
    ...{ credential: null, source, managedBy: null, origin: null },
    ...{ createdAt: new Date(0), updatedAt: new Date(0) },
  }
}

test.each([
  ['api', row('api')],
  ['vault', row('file', { vault: 'a' })],
  ['secretRef', row('file', { secretRef: { name: 'a' } })],
  ['secretRef', row('kubernetes', { secretRef: { name: 'a' } })],
])('a stored credential comes from %s', (source, of) => {
  expect(storedSource(of)).toBe(source)
})

test('a version is different after a change, the same after a master key rotation, and different for each Connector', () => {
  const rotated = createKeyring({ root: Buffer.alloc(32, 7), keys: [Buffer.alloc(32, 8)] })
  const version = (secret: string, { id = 'con_1', by = keyring } = {}) =>
    describedSecret(row('api', undefined, id), secret, { keyring: by, source: 'api' }).credential?.version
  expect(version('first')).toMatch(/^[0-9a-f]{12}$/)
  expect(version('second')).not.toBe(version('first'))
  expect(version('first', { by: rotated })).toBe(version('first'))
  expect(version('first', { id: 'con_2' })).not.toBe(version('first'))
})

test('a Connector without a stored credential has no description', () => {
  expect(describedSecret(row('api'), null, { keyring, source: 'api' })).toEqual({})
})
