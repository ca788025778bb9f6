import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKubectl, type Kubectl } from '../../../controlplane/cli/cluster/kubectl.ts'
import { renewOwnerLink } from '../../../controlplane/cli/cluster/owner-link-secret.ts'
import { kubeTools } from '../../cluster/tools/kube-tools.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../support/kube-api-server.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { register, startControlPlane, type TestControlPlane } from '../routes/start.ts'

const NAMESPACE = 'chaperone-system'
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`
const RBAC = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}`
const program = (await kubeTools())?.kubectl ?? null

describe.skipIf(kubeAssets() === null || program === null)(`in a cluster (${KUBE_ASSETS_HINT})`, () => {
  let kube: KubeApiServer
  let postgres: TestPostgres
  let folder: string
  let plane: TestControlPlane

  const kubectl = (...globals: string[]): Kubectl =>
    createKubectl(['--kubeconfig', kube.kubeconfigPath, ...globals], { KUBECTL: program ?? '', HOME: folder })
  const as = (name: string) => kubectl('--as', name)

  async function create(path: string, object: object): Promise<string> {
    const file = join(folder, 'object.json')
    await writeFile(file, JSON.stringify(object))
    return kubectl().run('create', '--raw', path, '-f', file)
  }

  const grant = async (name: string, verbs: string[], subject: object) => {
    const rules = [
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['chaperone-owner-link'], verbs },
    ]
    await create(`${RBAC}/roles`, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name },
      rules,
    })
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name }
    const binding = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name } }
    await create(`${RBAC}/rolebindings`, { ...binding, roleRef, subjects: [subject] })
  }

  async function write(data: Record<string, string>): Promise<void> {
    const file = join(folder, 'secret.json')
    const metadata = { name: 'chaperone-owner-link', namespace: NAMESPACE }
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: data }))
    await kubectl().run('replace', '--raw', `${SECRETS}/chaperone-owner-link`, '-f', file)
  }

  const tokenOf = (link: string) => new URL(link).searchParams.get('token') ?? ''
  const tries = async (token: string, email = 'owner@example.com') =>
    (await register(plane.call, email, { setup_token: token })).status

  beforeAll(async () => {
    ;[kube, postgres] = await Promise.all([startKubeApiServer(), workerPostgres()])
    folder = await mkdtemp(join(tmpdir(), 'chaperone-owner-'))
    await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
    const account = {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'chaperone-control-plane' },
    }
    await create(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, account)
    await create(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'chaperone-owner-link' } })
    const { name } = account.metadata
    await grant('read', ['get'], { kind: 'ServiceAccount', name, namespace: NAMESPACE })
    await grant('update', ['update'], {
      kind: 'User',
      apiGroup: 'rbac.authorization.k8s.io',
      name: 'installer',
    })
    await grant('get', ['get'], { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'reader' })
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
    const made = await create(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${name}/token`, request)
    await writeFile(join(folder, 'token'), (JSON.parse(made) as { status: { token: string } }).status.token)
    await writeFile(join(folder, 'ca.crt'), kube.caPem)
    plane = await startControlPlane(await postgres.createMigratedDatabase(), {
      HOST: '0.0.0.0',
      KUBE_API_URL: kube.url,
      KUBE_CA_FILE: join(folder, 'ca.crt'),
      KUBE_TOKEN_FILE: join(folder, 'token'),
      OWNER_LINK_OBJECT: `${NAMESPACE}/chaperone-owner-link`,
    })
  })
  afterAll(async () => {
    await plane?.close()
    await Promise.all([kube?.[Symbol.asyncDispose](), postgres?.stop()])
    await rm(folder, { recursive: true, force: true })
  })

  test('an empty Secret, a guessed token and no token make no owner', async () => {
    for (const token of ['', 'undefined', 'x'.repeat(43)]) expect(await tries(token)).toBe(403)
    expect((await register(plane.call, 'owner@example.com')).status).toBe(403)
    expect(await plane.makeOwnerLink()).toBeNull()
  })

  test.each([
    ['over', 'y'.repeat(43), () => new Date(Date.now() - 1).toISOString()],
    ['valid for more than an hour', 'y'.repeat(43), () => new Date(Date.now() + 2 * 3_600_000).toISOString()],
    ['without an end', 'y'.repeat(43), () => 'never'],
    ['short', 'yyyy', () => new Date(Date.now() + 60_000).toISOString()],
  ])('a link that is %s makes no owner', async (_what, token, expiresAt) => {
    await write({ token, link: 'x', 'expires-at': expiresAt() })
    expect(await tries(token)).toBe(403)
  })

  test('only who may update the Secret makes a link; it works once', async () => {
    for (const name of ['stranger', 'reader'])
      await expect(renewOwnerLink(as(name), NAMESPACE)).rejects.toThrow(
        /cannot update resource "secrets"|forbidden/i,
      )
    const first = await renewOwnerLink(as('installer'), NAMESPACE)
    const second = await renewOwnerLink(as('installer'), NAMESPACE)
    expect(first).toMatch(/^https:\/\/localhost:3443\/setup\?token=[\w-]{43}$/)
    expect(await tries(tokenOf(first))).toBe(403)
    const secret = await kubectl().run('get', 'secret', 'chaperone-owner-link', '-n', NAMESPACE, '-o', 'json')
    expect(Object.keys((JSON.parse(secret) as { metadata: object }).metadata)).not.toContain('annotations')
    expect(await tries(tokenOf(second))).toBe(200)
    expect(await tries(tokenOf(second), 'second@example.com')).toBe(403)
    expect(await tries(tokenOf(await renewOwnerLink(kubectl(), NAMESPACE)), 'third@example.com')).toBe(403)
    expect(plane.log()).not.toContain(tokenOf(second))
  })
})
