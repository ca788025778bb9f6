import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { createServerCa } from '../../../controlplane/crypto/server-certificate.ts'
import { type Cluster, openCluster } from '../../operator/kube/cluster.ts'
import { eventually } from '../../support/eventually.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../support/kube-api-server.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { createTestCa } from '../../support/test-ca.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { startControlPlane, type TestControlPlane } from '../routes/start.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const PATH = '/api/dashboard/proxy-approvals'
const CALLER = { 'x-service-caller': 'certificate' }
const userCa = createTestCa('users of the cluster')
const strangers = createTestCa('users of the cluster')

describe.skipIf(kubeAssets() === null)(`client certificates of a cluster (${KUBE_ASSETS_HINT})`, () => {
  let kube: KubeApiServer
  let cluster: Cluster
  let postgres: TestPostgres
  let plane: TestControlPlane
  let folder: string
  let database: pg.Client

  const bind = (base: string, namespace: string, name: string, subject: object, kind = 'ClusterRole') =>
    cluster.createRaw({ base, plural: 'rolebindings' }, namespace, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
      subjects: [subject],
    })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chaperone-certificates-'))
    const clientCa = join(folder, 'clients.crt')
    await writeFile(clientCa, userCa.cert)
    ;[kube, postgres] = await Promise.all([
      startKubeApiServer({ args: [`--client-ca-file=${clientCa}`] }),
      workerPostgres(),
    ])
    cluster = openCluster(kube)
    for (const name of ['chaperone-system', 'team']) await cluster.namespace(name)
    const account = { kind: 'ServiceAccount', name: 'chaperone-control-plane', namespace: 'chaperone-system' }
    await cluster.createRaw({ base: '/api/v1', plural: 'serviceaccounts' }, account.namespace, {
      metadata: { name: account.name },
    })
    const role = (name: string, rules: object[]) =>
      cluster.createRaw({ base: RBAC, plural: 'clusterroles' }, undefined, { metadata: { name }, rules })
    await role('reviews', [
      { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
    ])
    await role('approver', [
      { apiGroups: ['chaperone.dev'], resources: ['approvals'], verbs: ['get', 'answer'] },
    ])
    await cluster.createRaw({ base: RBAC, plural: 'clusterrolebindings' }, undefined, {
      metadata: { name: 'reviews' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reviews' },
      subjects: [account],
    })
    await bind(RBAC, 'kube-system', 'extension-apiserver-authentication-reader', account, 'Role')
    const ann = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ann' }
    await bind(RBAC, 'team', 'approver', ann)
    const made = await cluster.client.call<{ status: { token: string } }>({
      method: 'POST',
      path: `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    })
    await writeFile(join(folder, 'token'), made.status.token)
    await writeFile(join(folder, 'ca.crt'), kube.caPem)
    const published = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
    await eventually('the cluster publishes its CA', async () => {
      const found = await cluster.client
        .call<{ data?: object }>({ method: 'GET', path: published })
        .catch(() => null)
      return found?.data ?? null
    })
    const own = await postgres.createMigratedDatabase()
    database = new pg.Client({ connectionString: own.adminUrl })
    await database.connect()
    const start = () =>
      startControlPlane(own, {
        ...{
          KUBE_API_URL: kube.url,
          KUBE_CA_FILE: join(folder, 'ca.crt'),
          KUBE_TOKEN_FILE: join(folder, 'token'),
        },
        TLS_HOSTS: 'localhost',
      })
    // The authorizer reads its own cache of roles and bindings.
    await eventually('the binding is in force', async () => {
      plane = await start()
      await database.query(
        "insert into agents (id, org_id, name) select 'agt_1', id, 'team/bot' from orgs on conflict do nothing",
      )
      const { status } = await ask(userCa.issue('ann'), CALLER)
      if (status === 200) return true
      await plane.close()
      return null
    })
  })
  afterAll(async () => {
    await plane?.close()
    await database?.end()
    cluster?.[Symbol.dispose]()
    await Promise.all([kube?.[Symbol.asyncDispose](), postgres?.stop()])
    await rm(folder, { recursive: true, force: true })
  })

  const serverCa = createServerCa(createKeyring(Buffer.from('ab'.repeat(32), 'hex')), Date.now()).caPem
  async function ask(
    identity: { readonly cert: string; readonly key: string } | null,
    headers: Record<string, string>,
    method: 'GET' | 'POST' = 'GET',
  ) {
    const dispatcher = new Agent({ connect: { ca: serverCa, ...identity } })
    try {
      const reply = await request(`https://localhost:${new URL(plane.url).port}${PATH}`, {
        ...{ method, dispatcher },
        headers: { 'content-type': 'application/json', ...headers },
        ...(method === 'POST' ? { body: JSON.stringify({ id: 'apv_none', approved: true }) } : {}),
      })
      return { status: reply.statusCode, text: await reply.body.text() }
    } finally {
      await dispatcher.destroy()
    }
  }

  test('are their callers, with the rights that RBAC gives them', async () => {
    expect((await ask(userCa.issue('ann'), CALLER)).status).toBe(200)
    expect((await ask(userCa.issue('ann'), CALLER, 'POST')).status).toBe(404)
    const eve = await ask(userCa.issue('eve'), CALLER)
    expect([eve.status, eve.text]).toEqual([403, expect.stringContaining('a role of the cluster to eve')])
  })

  test('are not agents: the name of a ServiceAccount that a governed pod uses is nobody’s', async () => {
    const bot = userCa.issueTo({
      commonNames: ['system:serviceaccount:team:bot'],
      organizations: ['system:masters'],
    })
    expect((await ask(bot, CALLER)).status).toBe(200)
    await database.query(
      `insert into pod_identities (pod_uid, namespace, name, agent, gateway, service_account)
       values ('uid-1', 'team', 'bot-0', 'team/bot', 'team/default', 'bot')`,
    )
    expect((await ask(bot, CALLER)).status).toBe(401)
    await database.query('delete from pod_identities')
  })

  test.each<[string, () => { cert: string; key: string } | null, Record<string, string>]>([
    ['without a certificate', () => null, CALLER],
    ['of another CA of the same name', () => strangers.issue('ann'), CALLER],
    ['by itself, as a browser would send it', () => userCa.issue('ann'), {}],
    ['asked for otherwise', () => userCa.issue('ann'), { 'x-service-caller': 'token' }],
    [
      'beside a token that is nobody’s',
      () => userCa.issue('ann'),
      { ...CALLER, authorization: 'Bearer svc_x' },
    ],
  ])('is nobody %s', async (_what, identity, headers) => {
    expect((await ask(identity(), headers)).status).toBe(401)
  })
})
