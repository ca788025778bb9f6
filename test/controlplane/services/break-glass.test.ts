import { expect, test } from 'vitest'
import type { Db } from '../../../controlplane/db/query.ts'
import { createBreakGlass } from '../../../controlplane/features/authentication/break-glass.ts'
import type { UserPrincipal } from '../../../controlplane/http/auth/authenticate.ts'
import { ChaperoneError } from '../../../core/errors.ts'

const USE = { method: 'GET', path: '/api/dashboard/gateway', address: '127.0.0.1' }
const OWNER: UserPrincipal = {
  ...{ kind: 'user', userId: 'usr_1', email: 'ann@example.com', role: 'owner', groups: [] },
  ...{ via: 'session', namespaces: 'all' },
}

function world(get: () => Promise<unknown> = async () => null) {
  const state = { isAdministered: false, isSilent: false, events: 0 }
  const query = async (text: string) => {
    if (state.isSilent) throw new ChaperoneError('not_ready')
    if (text.startsWith('update orgs')) {
      const rowCount = state.isAdministered ? 0 : 1
      state.isAdministered = true
      return { rows: [], rowCount }
    }
    if (text.startsWith('insert into audit_events')) state.events++
    return { rows: [{ id: 1, administered: state.isAdministered }], rowCount: 1 }
  }
  const db = { query, tx: (work: (q: object) => unknown) => work({ query }) } as unknown as Db
  const secret = { namespace: 'chaperone-system', name: 'chaperone-keys' }
  return { state, service: createBreakGlass({ db, orgId: 'org', kube: { get }, secret, nowMs: Date.now }) }
}

test.each<[string, Partial<UserPrincipal>, boolean]>([
  ['an owner', {}, true],
  ['an admin', { role: 'admin' }, true],
  ['an admin whose page secret is missing', { role: 'admin', restriction: 'page_secret' }, true],
  ['an admin of the cluster', { role: 'admin', via: 'cluster' }, true],
  ['a member', { role: 'member' }, false],
  ['a viewer', { role: 'viewer' }, false],
  ['an admin of one namespace', { role: 'admin', roleNamespaces: new Set(['team']) }, false],
  ['a session that is not checked', { restriction: 'unchecked' }, false],
  ['an approver key', { via: 'approver_key' }, false],
  ['the token itself', { via: 'admin_token' }, false],
  [
    'a ServiceAccount with every right',
    { role: 'admin', via: 'cluster', email: 'system:serviceaccount:ci:deploy' },
    false,
  ],
  ['a node', { role: 'admin', via: 'cluster', email: 'system:node:a' }, false],
])('%s closes the token: %s', async (_who, user, isClosed) => {
  const { service, state } = world()
  await service.noteAdmin({ ...OWNER, ...user })
  await service.noteAdmin({ ...OWNER, ...user })
  expect(await service.isClosed(USE)).toBe(isClosed)
  // The change, once, and the use.
  expect(state.events).toBe(isClosed ? 2 : 1)
})

test('a use that cannot be recorded is refused', async () => {
  const { service, state } = world()
  state.isSilent = true
  await expect(service.isClosed(USE)).rejects.toThrow(ChaperoneError)
})

test.each<[string, unknown]>([
  ['no Secret', null],
  ['no data', {}],
  ['no entry', { data: { 'admin.token': 'eA==' } }],
  ['an entry of another type', { data: { 'break-glass-until': 1 } }],
  ['no base64', { data: { 'break-glass-until': '%%%' } }],
])('%s leaves it closed', async (_what, secret) => {
  const { service } = world(async () => secret)
  await service.noteAdmin(OWNER)
  expect(await service.isClosed(USE)).toBe(true)
})
