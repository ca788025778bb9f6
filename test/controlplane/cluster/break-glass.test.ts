import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { breakGlass } from '../../../controlplane/cli/cluster/break-glass.ts'
import { createKubectl, type Kubectl } from '../../../controlplane/cli/cluster/kubectl.ts'
import { kubeTools } from '../../cluster/tools/kube-tools.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../support/kube-api-server.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { readOperations } from '../openapi/document.ts'
import { at, type Call, caller, register, startControlPlane, type TestControlPlane } from '../routes/start.ts'

const NAMESPACE = 'chaperone-system'
const TOKEN = 'the-owners-token-of-this-cluster-0123456789'
const KILL = '/api/dashboard/kill-switch'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const program = (await kubeTools())?.kubectl ?? null

describe.skipIf(kubeAssets() === null || program === null)(`break-glass (${KUBE_ASSETS_HINT})`, () => {
  let kube: KubeApiServer
  let postgres: TestPostgres
  let folder: string
  let plane: TestControlPlane
  let database: pg.Client
  let owner: Call

  const kubectl = (...globals: string[]): Kubectl =>
    createKubectl(['--kubeconfig', kube.kubeconfigPath, ...globals], { KUBECTL: program ?? '', HOME: folder })
  const create = (path: string, object: object) =>
    kubectl().input(JSON.stringify(object), 'create', '--raw', path, '-f', '-')
  const byToken: Call = (method, path, body) =>
    plane.call(method, path, body, { authorization: `Bearer ${TOKEN}` })
  const read = async () => (await byToken('GET', '/api/dashboard/gateway')).status
  const events = async () =>
    (
      await database.query<{ details: Record<string, string> }>(
        "select details from audit_events where event_type = 'owner_token.used' order by id",
      )
    ).rows.map(({ details }) => details)
  const accountToken = async (name: string) => {
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
    const made = await create(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${name}/token`, request)
    return (JSON.parse(made) as { status: { token: string } }).status.token
  }
  const write = (until: string) =>
    kubectl().run(
      ...['patch', 'secret', 'chaperone-keys', '-n', NAMESPACE, '--type=merge'],
      ...['-p', JSON.stringify({ stringData: { 'break-glass-until': until } })],
    )

  /** A role of its own for one subject. */
  async function grant(name: string, rule: object, subject: object): Promise<void> {
    const metadata = { name }
    const api = { apiVersion: 'rbac.authorization.k8s.io/v1' }
    await create(`${RBAC}/clusterroles`, { ...api, kind: 'ClusterRole', metadata, rules: [rule] })
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
    await create(`${RBAC}/clusterrolebindings`, {
      ...{ ...api, kind: 'ClusterRoleBinding', metadata, roleRef, subjects: [subject] },
    })
  }
  const secretRule = (...verbs: string[]) => ({
    ...{ apiGroups: [''], resources: ['secrets'], resourceNames: ['chaperone-keys'], verbs },
  })
  const person = (name: string) => ({ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name })
  const account = (name: string) => ({ kind: 'ServiceAccount', namespace: NAMESPACE, name })

  beforeAll(async () => {
    ;[kube, postgres] = await Promise.all([startKubeApiServer(), workerPostgres()])
    folder = await mkdtemp(join(tmpdir(), 'chaperone-break-glass-'))
    await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
    for (const name of ['chaperone-control-plane', 'machine'])
      await create(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, {
        ...{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
      })
    await create(`/api/v1/namespaces/${NAMESPACE}/secrets`, {
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'chaperone-keys' } },
      stringData: { 'admin.token': TOKEN, 'master.key': 'kept' },
    })
    const system = account('chaperone-control-plane')
    await grant('plane', secretRule('get'), system)
    const groups = ['authentication.k8s.io', 'authorization.k8s.io']
    const resources = ['tokenreviews', 'subjectaccessreviews']
    await grant('reviews', { apiGroups: groups, resources, verbs: ['create'] }, system)
    await grant(
      'rights',
      { apiGroups: ['chaperone.dev'], resources: ['*'], verbs: ['*'] },
      account('machine'),
    )
    await grant('opener', secretRule('get', 'update'), person('opener'))
    await grant('reader', secretRule('get'), person('reader'))
    await writeFile(join(folder, 'token'), await accountToken('chaperone-control-plane'))
    await writeFile(join(folder, 'ca.crt'), kube.caPem)
    await writeFile(join(folder, 'admin'), TOKEN)
    const made = await postgres.createDatabase()
    database = new pg.Client({ connectionString: made.adminUrl })
    await database.connect()
    plane = await startControlPlane(made, {
      KUBE_API_URL: kube.url,
      KUBE_CA_FILE: join(folder, 'ca.crt'),
      KUBE_TOKEN_FILE: join(folder, 'token'),
      ADMIN_TOKEN_FILE: join(folder, 'admin'),
      ADMIN_TOKEN_OBJECT: `${NAMESPACE}/chaperone-keys`,
    })
  })
  afterAll(async () => {
    await plane?.close()
    await database?.end()
    await Promise.all([kube?.[Symbol.asyncDispose](), postgres?.stop()])
    await rm(folder, { recursive: true, force: true })
  })

  test('the token works while no user administers, although a machine does, and each use is an event', async () => {
    expect(await read()).toBe(200)
    const machine = caller(plane.url, { authorization: `Bearer ${await accountToken('machine')}` })
    expect((await machine('GET', '/api/dashboard/settings')).status).toBe(200)
    expect((await machine('GET', '/api/auth/me')).body).toMatchObject({ user: { role: 'admin' } })
    expect(await read()).toBe(200)
    const use = { method: 'GET', path: '/api/dashboard/gateway', state: 'not_required' }
    expect(await events()).toEqual([expect.objectContaining(use), expect.objectContaining(use)])
    expect((await events())[0]).toMatchObject({ actor: { kind: 'system', name: 'owner-token' } })
  })

  test('once a user with the role admin has signed in every route refuses it, but for activating a kill switch', async () => {
    const link = await plane.makeOwnerLink()
    const extra = { setup_token: new URL(link ?? '').searchParams.get('token') }
    expect((await register(plane.call, 'owner@example.com', extra)).status).toBe(200)
    owner = await plane.signIn('owner@example.com')
    expect((await owner('GET', '/api/dashboard/overview')).status).toBe(200)
    const operations = (await readOperations(plane.call)).filter(({ security }) =>
      security.includes('session'),
    )
    expect(operations.length).toBeGreaterThan(50)
    const others: string[] = []
    for (const { method, path } of operations) {
      const answer = await byToken(
        method,
        path.replaceAll(/\{\w+\}/g, 'nothing'),
        method === 'GET' ? undefined : {},
      )
      const isRefused = answer.status === 403 && at(answer.body, 'restriction') === 'break_glass'
      if (!isRefused) others.push(`${answer.status} ${method} ${path}`)
    }
    expect(others.sort()).toEqual([`400 POST ${KILL}`, '400 POST /api/v1/org/kill-switch'])
    for (const path of [KILL, '/api/v1/org/kill-switch']) {
      expect((await byToken('POST', path, { active: true, scope: 'agent:x', reason: 'r' })).status).toBe(200)
      const lift = await byToken('POST', path, { active: false, scope: 'agent:x' })
      expect([lift.status, at(lift.body, 'restriction')]).toEqual([403, 'break_glass'])
    }
    const used = (await events()).filter(({ state }) => state === 'closed')
    expect(used).toHaveLength(operations.length + 4)
    const { body } = await owner('GET', '/api/dashboard/overview')
    expect(body['warnings']).toEqual([expect.stringMatching(/owner's token was used \d+ times/)])
  })

  test('kubectl chaperone break-glass opens it with the right update on its Secret, and closes it', async () => {
    for (const name of ['reader', 'stranger'])
      await expect(breakGlass(kubectl('--as', name), NAMESPACE, ['--for', '1h'])).rejects.toThrow(
        /forbidden/i,
      )
    expect(await read()).toBe(403)
    const until = await breakGlass(kubectl('--as', 'opener'), NAMESPACE, ['--for', '1h'])
    expect(Date.parse(until ?? '') - Date.now()).toBeGreaterThan(3_500_000)
    expect(await read()).toBe(200)
    expect((await byToken('POST', KILL, { active: false, scope: 'agent:x' })).status).toBe(200)
    expect((await events()).at(-1)).toMatchObject({ state: 'open', open_until: until, method: 'POST' })
    expect(await breakGlass(kubectl('--as', 'opener'), NAMESPACE, ['--for=0'])).toBeNull()
    expect(await read()).toBe(403)
    const secret = await kubectl().object<{ data: object }>('secret', 'chaperone-keys', '-n', NAMESPACE)
    expect(Object.keys(secret?.data ?? {}).sort()).toEqual(['admin.token', 'master.key'])
  })

  test.each([
    ['over', () => new Date(Date.now() - 1_000).toISOString()],
    ['later than in 24 hours', () => new Date(Date.now() + 25 * 3_600_000).toISOString()],
    ['no time', () => 'true'],
    ['empty', () => ''],
    ['a number', () => '99999999999999'],
  ])('an entry that is %s opens nothing', async (_what, until) => {
    await write(until())
    expect(await read()).toBe(403)
  })

  test.each([
    [],
    ['--for'],
    ['--for', '25h'],
    ['--for', '1d'],
    ['--for', '-1h'],
    ['--for', '0h'],
    ['1h'],
    ['--for', '1h', 'x'],
    ['--for', '1h', '--force'],
  ])('break-glass %j is refused before anything is written', async (...args) => {
    const silent = { object: () => Promise.reject(new Error('asked')) } as unknown as Kubectl
    await expect(breakGlass(silent, NAMESPACE, args)).rejects.toThrow(/from 1m to 24h/)
  })

  test('without the API server the token activates a kill switch, and does nothing else', async () => {
    await write(new Date(Date.now() + 3_600_000).toISOString())
    expect(await read()).toBe(200)
    await kube[Symbol.asyncDispose]()
    expect(await read()).toBe(503)
    expect((await byToken('POST', KILL, { active: true, scope: 'agent:y', reason: 'r' })).status).toBe(200)
    expect((await byToken('POST', KILL, { active: false, scope: 'agent:y' })).status).toBe(403)
  })
})
