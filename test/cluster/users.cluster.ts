import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { CALLS, inForce, podTemplate, startVendor, type Vendor } from './agents.ts'
import { type ControlPlane, openControlPlane } from './control-plane.ts'
import { AGENTS, install, SYSTEM } from './installation.ts'
import { apply, exec, isAllowed, type KubeObject, kube, type Ran, run } from './kubectl.ts'
import { kubeTools } from './tools/kube-tools.ts'

const GATEWAY = 'users'
const OTHER = 'chaperone-test-users'
const ANN = 'ann@example.com'
const BOT = `system:serviceaccount:${AGENTS}:approver`
const CSR = 'chaperone-test-ann'
const PLUGIN = join(import.meta.dirname, '../../controlplane/cli/cluster/kubectl-chaperone.ts')
const RBAC = 'rbac.authorization.k8s.io'
const APPROVALS = '/api/dashboard/proxy-approvals'
let folder: string
let vendor: Vendor
let controlPlane: ControlPlane

beforeAll(async () => {
  await install(inject('installation'))
  process.env['KUBECTL'] = (await kubeTools())?.kubectl
  folder = mkdtempSync(join(tmpdir(), 'chaperone-users-'))
  await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: OTHER } })
  vendor = await startVendor(GATEWAY, { allowedNamespaces: { agents: { from: 'All' } } })
  await apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'approver', namespace: AGENTS } },
    {
      ...{ apiVersion: `${RBAC}/v1`, kind: 'Role', metadata: { name: 'approver', namespace: AGENTS } },
      rules: [{ apiGroups: ['chaperone.dev'], resources: ['approvals'], verbs: ['answer'] }],
    },
    binding(AGENTS, 'approver'),
    binding(SYSTEM, 'chaperone-connect'),
  )
  for (const namespace of [AGENTS, OTHER]) await startAgent(namespace)
  await inForce(GATEWAY)
  controlPlane = await openControlPlane()
}, 300_000)
afterAll(async () => {
  await controlPlane?.[Symbol.asyncDispose]()
  const made = ['serviceaccount/approver', 'role/approver', 'rolebinding/chaperone-test', 'pod/asks']
  await kube(['delete', ...made, '-n', AGENTS, '--ignore-not-found', '--timeout=90s'])
  await kube(['delete', 'rolebinding/chaperone-test', '-n', SYSTEM, '--ignore-not-found'])
  await kube(['delete', 'csr', CSR, '--ignore-not-found'])
  await kube(['delete', 'namespace', OTHER, '--ignore-not-found', '--timeout=90s'])
  await vendor?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
}, 180_000)

/** Both users, in one namespace. */
function binding(namespace: string, role: string): KubeObject {
  return {
    ...{ apiVersion: `${RBAC}/v1`, kind: 'RoleBinding', metadata: { name: 'chaperone-test', namespace } },
    roleRef: { apiGroup: RBAC, kind: 'Role', name: role },
    subjects: [
      { kind: 'User', apiGroup: RBAC, name: ANN },
      { kind: 'ServiceAccount', name: 'approver', namespace: AGENTS },
    ],
  }
}

function mayAnswer(user: string, namespace: string): Promise<boolean> {
  return isAllowed({ user }, { group: 'chaperone.dev', resource: 'approvals', verb: 'answer', namespace })
}

async function startAgent(namespace: string): Promise<void> {
  const { metadata, spec } = podTemplate(`${AGENTS}/${GATEWAY}`)
  await apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'asks', namespace, ...metadata }, spec })
  await kube(['wait', '-n', namespace, '--for=condition=Ready', '--timeout=90s', 'pod/asks'])
}

/** A certificate of the cluster's own client CA, by its API. */
async function certificate(): Promise<object> {
  const [keyFile, requestFile] = [join(folder, 'ann.key'), join(folder, 'ann.csr')]
  const made = await run(
    'openssl',
    [
      ...['req', '-new', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${ANN}`],
      ...['-keyout', keyFile, '-out', requestFile],
    ],
    '',
  )
  if (made.code !== 0) throw new Error(made.stderr)
  await kube(['delete', 'csr', CSR, '--ignore-not-found'])
  await apply({
    ...{ apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata: { name: CSR } },
    spec: {
      request: readFileSync(requestFile).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      expirationSeconds: 3_600,
      usages: ['client auth'],
    },
  })
  await kube(['certificate', 'approve', CSR])
  const signed = await eventually('the certificate is signed', async () => {
    return (await kube(['get', 'csr', CSR, '-o', 'jsonpath={.status.certificate}'])) || null
  })
  return {
    'client-certificate-data': signed,
    'client-key-data': readFileSync(keyFile).toString('base64'),
  }
}

async function token(): Promise<object> {
  return { token: (await kube(['create', 'token', 'approver', '-n', AGENTS])).trim() }
}

/** The kubeconfig of the tests, for another user. */
async function kubeconfig(user: object): Promise<string> {
  const config = JSON.parse(
    await kube(['config', 'view', '--raw', '--minify', '--flatten', '-o', 'json']),
  ) as { users: Array<{ name: string; user: object }> }
  const file = join(folder, 'kubeconfig')
  const users = config.users.map(({ name }) => ({ name, user }))
  writeFileSync(file, JSON.stringify({ ...config, users }), { mode: 0o600 })
  return file
}

async function chaperone(file: string, ...args: readonly string[]): Promise<Ran> {
  const ran = await run(process.execPath, [PLUGIN, ...args, '--kubeconfig', file], '')
  console.log(`$ kubectl chaperone ${args.join(' ')}\n${ran.stdout}${ran.stderr}`)
  return ran
}

type Approval = { readonly id: string; readonly agent: string }

/** A held request of the agent of a namespace: the id of its approval, and the answer that the agent gets. */
async function hold(namespace: string) {
  const answer = exec({ pod: 'asks', namespace }, CALLS.node('POST')).then(({ stdout }) => stdout)
  const id = await eventually(
    `a request of ${namespace} is held`,
    async () => {
      const path = `${APPROVALS}?status=pending`
      const { approvals } = await controlPlane.call<{ readonly approvals: readonly Approval[] }>('GET', path)
      return approvals.find(({ agent }) => agent === `${namespace}/asks`)?.id ?? null
    },
    30_000,
  )
  return { id, answer }
}

test.each([
  ['token', BOT, token],
  ['client certificate', ANN, certificate],
])(
  'a user with approvals/answer in one namespace answers there by %s, under the name %s, and nowhere else',
  async (_by, name, credential) => {
    await eventually('the binding is in force', async () => (await mayAnswer(name, AGENTS)) || null)
    expect(await mayAnswer(name, OTHER)).toBe(false)
    const file = await kubeconfig(await credential())

    const foreign = await hold(OTHER)
    const refused = await chaperone(file, 'approvals', 'approve', foreign.id)
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain(foreign.id)
    // To list what waits is another right.
    const listed = await chaperone(file, 'approvals', 'ls')
    expect([listed.code, listed.stderr]).toEqual([1, expect.stringContaining('approvals.chaperone.dev')])
    const before = vendor.recorder.seen.length
    await controlPlane.call('POST', APPROVALS, { id: foreign.id, approved: false })
    expect(await foreign.answer).toMatch(/^403 /)
    expect(vendor.recorder.seen).toHaveLength(before)

    const own = await hold(AGENTS)
    const approved = await chaperone(file, 'approvals', 'approve', own.id)
    expect([approved.code, approved.stdout]).toEqual([0, expect.stringContaining(`${own.id} is approved`)])
    expect(await own.answer).toBe('200 {"ok":true}\n')
    expect(vendor.recorder.seen).toHaveLength(before + 1)

    const events = await audit()
    const answered = (id: string) => events.filter(({ details }) => details['approval_id'] === id)
    expect(answered(own.id)).toEqual([
      expect.objectContaining({ details: expect.objectContaining({ responded_by: name }) }),
    ])
    expect(answered(foreign.id).map(({ details }) => details['responded_by'])).not.toContain(name)
  },
  180_000,
)

type Event = { readonly event_type: string; readonly details: Readonly<Record<string, unknown>> }

async function audit(): Promise<readonly Event[]> {
  const path = '/api/dashboard/audit?event_type=approval.responded&limit=100'
  return (await controlPlane.call<{ readonly events: readonly Event[] }>('GET', path)).events
}
