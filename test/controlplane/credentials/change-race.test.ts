import { expect, test } from 'vitest'
import { createCredentials } from '../../../controlplane/features/credentials/service.ts'

const ROW = { id: 'conn_1', name: 'generic', source: 'api', spec: { type: 'generic' }, credential: null }
const BY = { kind: 'system', label: 'test' } as const

/** Credentials of a database whose connectors change between the look-up and the transaction. */
function racing(before: object[], within: object[], rowCount: number) {
  const written: string[] = []
  const queryOf = (connectors: object[]) => ({
    async query(text: string) {
      if (text.startsWith('select name, secret')) return { rows: [], rowCount: 0 }
      if (text.startsWith('select'))
        return { rows: text.includes('from connectors') ? connectors : [], rowCount: 0 }
      written.push(text)
      return { rows: [{ id: 1, version: 1 }], rowCount }
    },
  })
  const inside = queryOf(within)
  const db = { ...queryOf(before), tx: async (work: (q: typeof inside) => unknown) => work(inside) }
  const credentials = createCredentials({
    ...{ db, orgId: 'org_1', isCluster: false, relay: {} },
    keyring: { seal: () => ({}), open: () => '' },
    manifests: {
      credentialChanged: async (_name: string, work: (q: typeof inside) => unknown) => work(inside),
    },
  } as never)
  return { credentials, written }
}

const MANIFEST = { ...ROW, name: 'default/generic', source: 'file' }
const named = { ...MANIFEST, spec: { type: 'generic', credential: { vault: 'other' } } }

test.each<[string, object[], object[]]>([
  ['a manifest took its name', [ROW], [named]],
  ['it became another credential of the store', [named], []],
])('nothing is written when %s in the meantime', async (_, before, within) => {
  const { credentials, written } = racing(before, within, 1)
  const meantime = expect.stringContaining(
    'The credential generic was not changed, because its connectors changed at the same time',
  )
  await expect(credentials.set(BY, { name: 'generic', secret: 'canary' })).rejects.toMatchObject({
    ...{ code: 'conflict', message: meantime },
  })
  await expect(credentials.remove(BY, 'generic')).rejects.toMatchObject({ code: 'conflict' })
  expect(written).toEqual([])
})

test('a connector that a manifest took over keeps its credential', async () => {
  const { credentials, written } = racing([ROW], [ROW], 0)
  await expect(credentials.remove(BY, 'generic')).rejects.toMatchObject({ code: 'conflict' })
  expect(written).toEqual([expect.stringContaining("where id = $1 and source = 'api'")])
})
