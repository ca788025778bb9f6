import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { type Rule, resources } from '../helm/chart.ts'
import { eventually } from '../support/eventually.ts'
import { SANDBOX_DEFINITION, TEMPLATE_DEFINITION } from '../support/sandbox-definitions.ts'
import {
  agentPod,
  CALLS,
  inAgent,
  inForce,
  ours,
  podTemplate,
  running,
  startVendor,
  type Vendor,
} from './agents.ts'
import { openControlPlane } from './control-plane.ts'
import { AGENTS, install, SYSTEM, uninstall } from './installation.ts'
import { apply, get, helm, type KubeObject, kube } from './kubectl.ts'

const GATEWAY = 'rights'
const record = inject('installation').environment.auditRecord
let installedAt = ''
let vendor: Vendor

type AuditEvent = {
  readonly verb: string
  readonly requestReceivedTimestamp: string
  readonly user: { readonly username: string }
  readonly objectRef?: {
    readonly apiGroup?: string
    readonly resource: string
    readonly subresource?: string
    readonly name?: string
  }
  readonly responseStatus?: { readonly code?: number }
  readonly annotations?: Readonly<Record<string, string>>
}
/** One right as it is granted: to one account, one verb on one resource, on one name or on all (`*`). */
type Right = {
  readonly account: string
  readonly verb: string
  readonly resource: string
  readonly name: string
}

beforeAll(async () => {
  if (record === null) return
  // The jobs of the chart show what they need at the first installation of the run, which the record has.
  await install(inject('installation'))
  installedAt = new Date().toISOString()
  vendor = await startVendor(GATEWAY)
}, 300_000)
afterAll(async () => {
  await vendor?.[Symbol.asyncDispose]()
})

test.skipIf(record === null)(
  'the rendered rights are what the programs use, no more and no less (CHAPERONE_AUDIT_RECORD)',
  async () => {
    await live()
    const [rendered, lent] = [await rightsOf(), await rightsOfTheCluster()]
    await apply(SANDBOX_DEFINITION, TEMPLATE_DEFINITION)
    await withTemplate()
    await withInboundDenied()
    await withProxyEnvIsolated()
    const leavingAt = new Date().toISOString()
    // The sweep of a running operator, every 60 s, would remove the finalizer before the job of the chart does.
    await kube(['scale', 'deployment/chaperone-operator', '-n', SYSTEM, '--replicas=0'])
    const operators = ['pod', '-n', SYSTEM, '-l', 'app.kubernetes.io/component=operator']
    await kube(['wait', ...operators, '--for=delete', '--timeout=60s'])
    await apply(formerGateway('last'))
    await uninstall()
    await kube(['delete', 'cgw/last', 'cgw/inward', 'cgw/isolated', '-n', AGENTS])
    expect(await inboundPolicy()).toBeNull()
    expect(await proxyEnvPolicy()).toBeNull()
    await removeAgentSandbox()
    // Whatever the installations of this cluster have done since it is there.
    const calls = callsOfOurs()
    // While a chart is installed or removed programs may run for which no role is there.
    const inForce = calls.filter(({ requestReceivedTimestamp: at }) => at >= installedAt && at < leavingAt)
    const forbidden = inForce.filter(
      ({ annotations }) => annotations?.['authorization.k8s.io/decision'] !== 'allow',
    )
    expect(forbidden).toEqual([])
    const used = calls.flatMap(usesOf)
    const unused = rendered.filter((right) => !used.some((use) => covers(right, use)))
    expect(unused.map(textOf)).toEqual([])
    const accounts = new Set(rendered.map(({ account }) => account))
    // What every account may do is to ask which APIs there are.
    const others = inForce
      .flatMap(usesOf)
      .filter(({ account, resource }) => accounts.has(account) && resource !== '')
      .filter((use) => ![...rendered, ...lent].some((right) => covers(right, use)))
    expect(others.map(textOf)).toEqual([])
    console.log(`${calls.length} calls by ${accounts.size} accounts use all of ${rendered.length} rights`)
  },
  400_000,
)

/** Everything that an installation does in its life, and its agents. */
async function live(): Promise<void> {
  const refused = podTemplate(GATEWAY, { spec: { hostNetwork: true } })
  const labels = { app: 'refused' }
  // The operator uses its rights on agent-sandbox only where agent-sandbox is installed.
  await apply(SANDBOX_DEFINITION, TEMPLATE_DEFINITION, formerGateway('former'))
  await apply(
    agentPod('used', GATEWAY),
    ours('Policy', 'used', { rules: [{ name: 'r', conditions: ['false'], decision: 'deny' }] }),
    {
      ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: 'refused', namespace: AGENTS } },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { ...refused, metadata: { ...refused.metadata, labels } },
      },
    },
  )
  await running('used')
  await inForce(GATEWAY)
  await helm(['test', 'chaperone', '-n', SYSTEM, '--timeout', '90s'])
  await renewCa()
  // Most of its time is the deadline of a sidecar that reaches no control plane.
  const egressDenied = withEgressDenied()
  // It is awaited below, after steps that may fail first.
  egressDenied.catch(() => undefined)
  await presentOwnerLink()
  await callAsPerson()
  await presentOwnerToken()
  await withGrant()
  await eventually('the Policy is looked at', async () => {
    const policy = await get<{ readonly status?: object }>('cpol', 'used', AGENTS)
    return policy?.status ?? null
  })
  await withTemplate()
  await removeAgentSandbox()
  await egressDenied
  await withInboundDenied()
  await withProxyEnvIsolated()
  await kube(['delete', 'cgw/inward', 'cgw/isolated', '-n', AGENTS])
  await eventually('the operator deletes the NetworkPolicy of proxyEnv', async () =>
    (await proxyEnvPolicy()) === null ? true : null,
  )
  await eventually('the operator deletes the NetworkPolicy of inbound connections', async () =>
    (await inboundPolicy()) === null ? true : null,
  )
  await eventually('the operator deletes its NetworkPolicy', async () =>
    (await sandboxPolicy()) === null ? true : null,
  )
  await kube([
    'delete',
    'replicaset/refused',
    'pod/used',
    'cpol/used',
    'cgw/former',
    'serviceaccount/caller',
    '-n',
    AGENTS,
  ])
}

/** A SandboxTemplate beside a Gateway, for which the operator writes a NetworkPolicy. */
async function withTemplate(): Promise<void> {
  const metadata = { name: 'template', namespace: AGENTS }
  await eventually('a SandboxTemplate is admitted', () =>
    apply({ apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxTemplate', metadata }).then(
      () => true,
      () => null,
    ),
  )
  await eventually('the operator writes its NetworkPolicy', sandboxPolicy, 30_000)
}

/** A Gateway that denies inbound connections, for which the operator writes a NetworkPolicy. */
async function withInboundDenied(): Promise<void> {
  await apply(ours('Gateway', 'inward', { inbound: 'deny' }))
  await eventually('the operator writes its NetworkPolicy', inboundPolicy, 30_000)
}

/** A governed pod that a NetworkPolicy of its author keeps from the control plane: the operator reads the policies to say so. */
async function withEgressDenied(): Promise<void> {
  const pod = agentPod('cut', GATEWAY)
  await apply(
    {
      ...{ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' },
      metadata: { name: 'cut', namespace: AGENTS },
      spec: { podSelector: { matchLabels: { app: 'cut' } }, policyTypes: ['Egress'] },
    },
    { ...pod, metadata: { ...pod.metadata, labels: { app: 'cut' } } },
  )
  type Events = { readonly items: ReadonlyArray<{ readonly reason: string; readonly message: string }> }
  const message = await eventually(
    'an Event of the pod names the NetworkPolicy',
    async () => {
      const of = 'involvedObject.kind=Pod,involvedObject.name=cut'
      const given = await kube(['get', 'events', '-n', AGENTS, '--field-selector', of, '-o', 'json'])
      const { items } = JSON.parse(given) as Events
      return items.find(({ reason }) => reason === 'SidecarNotConnected')?.message ?? null
    },
    60_000,
  )
  expect(message).toContain(`NetworkPolicy ${AGENTS}/cut`)
  expect(message).toContain('ports: [{ protocol: TCP, port: 3443 }]')
  await kube(['delete', 'pod/cut', 'networkpolicy/cut', '-n', AGENTS])
}

/** A Gateway with proxyEnv, whose pods a NetworkPolicy isolates: see `networkPolicy.proxyEnv` of the chart. */
async function withProxyEnvIsolated(): Promise<void> {
  await apply(ours('Gateway', 'isolated', { interception: 'proxyEnv' }))
  await eventually('the operator writes its NetworkPolicy', proxyEnvPolicy, 30_000)
}

function proxyEnvPolicy(): Promise<object | null> {
  return get<object>('networkpolicy', 'chaperone-proxy-env', AGENTS)
}

function inboundPolicy(): Promise<object | null> {
  return get<object>('networkpolicy', 'chaperone-inbound', AGENTS)
}

function sandboxPolicy(): Promise<object | null> {
  return get<object>('networkpolicy', 'chaperone-agent-sandbox', AGENTS)
}

async function removeAgentSandbox(): Promise<void> {
  for (const { metadata } of [SANDBOX_DEFINITION, TEMPLATE_DEFINITION])
    await kube(['delete', 'customresourcedefinition', metadata.name])
}

/** A Gateway of a former version, whose finalizer the operator takes off at its start, and the chart when it is removed. */
function formerGateway(name: string): KubeObject {
  const gateway = ours('Gateway', name, {})
  const metadata = { ...gateway.metadata, finalizers: ['chaperone.dev/gateway'] }
  return { ...gateway, metadata }
}

/** By a token of the cluster: the control plane asks whose it is, and what they may do. */
async function callAsPerson(): Promise<void> {
  await using controlPlane = await openControlPlane()
  // No ServiceAccount of an agent: its tokens are no user's.
  await apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'caller', namespace: AGENTS } })
  const token = (await kube(['create', 'token', 'caller', '-n', AGENTS])).trim()
  const answers = controlPlane.call('GET', '/api/dashboard/proxy-approvals', undefined, token)
  await expect(answers).rejects.toThrow(/403.*approvals\.chaperone\.dev/)
}

/** An approval for a time, which the operator shows as a Permission until it is revoked. */
async function withGrant(): Promise<void> {
  await using controlPlane = await openControlPlane()
  type Approvals = { readonly approvals: ReadonlyArray<{ readonly id: string; readonly agent: string }> }
  const path = '/api/dashboard/proxy-approvals'
  const held = inAgent('used', CALLS.node('POST'))
  const id = await eventually('the request is held', async () => {
    const { approvals } = await controlPlane.call<Approvals>('GET', `${path}?status=pending`)
    return approvals.find(({ agent }) => agent === `${AGENTS}/used`)?.id ?? null
  })
  const answer = { id, approved: true, grant: { duration: '1h', max_uses: 2 } }
  const { grant_id } = await controlPlane.call<{ readonly grant_id: string }>('POST', path, answer)
  expect((await held).stdout).toBe('200 {"ok":true}\n')
  const shown = async () =>
    (await kube(['get', 'cperm', '-n', AGENTS, '-l', `chaperone.dev/grant=${grant_id}`, '-o', 'name'])).trim()
  await eventually('the operator writes its Permission', async () => (await shown()) || null, 30_000)
  expect((await inAgent('used', CALLS.node('POST'))).stdout).toBe('200 {"ok":true}\n')
  await controlPlane.call('DELETE', `/api/dashboard/grants?grant_id=${grant_id}`)
  await eventually('the operator deletes it', async () => ((await shown()) === '' ? true : null), 30_000)
}

/** Refused, because the user of the kubeconfig administers: the control plane looks whether its Secret opens it. */
async function presentOwnerToken(): Promise<void> {
  await using controlPlane = await openControlPlane()
  await controlPlane.call('GET', '/api/dashboard/overview')
  const encoded = await kube([
    'get',
    'secret',
    'chaperone-keys',
    '-n',
    SYSTEM,
    '-o',
    'jsonpath={.data.admin\\.token}',
  ])
  const token = Buffer.from(encoded, 'base64').toString('utf8').trim()
  const answers = controlPlane.call('GET', '/api/dashboard/overview', undefined, token)
  await expect(answers).rejects.toThrow(/403.*break-glass/)
}

/** A wrong one: it is compared with that of the Secret. */
async function presentOwnerLink(): Promise<void> {
  await using controlPlane = await openControlPlane()
  const who = { email: 'nobody@example.com', name: 'Nobody', password: 'a long enough password' }
  const body = { ...who, setup_token: 'x'.repeat(43) }
  await expect(controlPlane.call('POST', '/api/auth/register', body)).rejects.toThrow(/403/)
}

/**
 * Empties the Secret of the webhook, so that the operator replaces the certificate authority (CA). Otherwise, it
 * replaces the CA every eight months.
 */
async function renewCa(): Promise<void> {
  const secret = ['secret', 'chaperone-webhook-ca', '-n', SYSTEM]
  const keys = async () =>
    JSON.stringify((await get<{ readonly data?: object }>('secret', secret[1] ?? '', SYSTEM))?.data ?? {})
  const before = await keys()
  const names = Object.keys(JSON.parse(before) as object)
  const data = Object.fromEntries(names.map((name) => [name, null]))
  await kube(['patch', ...secret, '-p', JSON.stringify({ data })])
  await kube(['set', 'env', 'deployment/chaperone-operator', '-n', SYSTEM, 'PROXY_ENV_UPSTREAMS=[]'])
  await kube(['rollout', 'status', 'deployment/chaperone-operator', '-n', SYSTEM, '--timeout=120s'])
  await eventually('the CA is created again', async () => ((await keys()).length > 100 ? true : null), 30_000)
}

type Binding = {
  readonly metadata: { readonly namespace?: string }
  readonly roleRef: { readonly kind: string; readonly name: string }
  readonly subjects: ReadonlyArray<{ readonly name: string }>
}

/** Hooks and all, as helm renders them. */
async function rightsOf(): Promise<readonly Right[]> {
  const all = await resources(...inject('installation').values)
  return (await bindings()).flatMap(({ roleRef, subjects }) => {
    const role = all.find(({ kind, metadata }) => kind === roleRef.kind && metadata.name === roleRef.name)
    return subjects.flatMap(({ name }) => (role?.rules ?? []).flatMap((rule) => rightsIn(name, rule)))
  })
}

/** By roles that every cluster has and the chart only binds. They may grant more than what is used. */
async function rightsOfTheCluster(): Promise<readonly Right[]> {
  const found = (await bindings())
    .filter(({ roleRef }) => roleRef.name === 'extension-apiserver-authentication-reader')
    .map(async ({ metadata, roleRef, subjects }) => {
      const role = await get<{ readonly rules: readonly Rule[] }>('role', roleRef.name, metadata.namespace)
      return subjects.flatMap(({ name }) => (role?.rules ?? []).flatMap((rule) => rightsIn(name, rule)))
    })
  const rights = (await Promise.all(found)).flat()
  expect(rights.map(textOf)).toContain(
    'chaperone-control-plane: get configmaps extension-apiserver-authentication',
  )
  return rights
}

async function bindings(): Promise<readonly Binding[]> {
  const all = await resources(...inject('installation').values)
  return all.filter(
    ({ kind }) => kind === 'RoleBinding' || kind === 'ClusterRoleBinding',
  ) as unknown as readonly Binding[]
}

function rightsIn(
  account: string,
  { resources: named, verbs, resourceNames = ['*'] }: Rule,
): readonly Right[] {
  return verbs.flatMap((verb) =>
    named.flatMap((resource) => resourceNames.map((name) => ({ account, verb, resource, name }))),
  )
}

function callsOfOurs(): readonly AuditEvent[] {
  return readFileSync(record ?? '', 'utf8')
    .split('\n')
    .filter((line) => line.includes(`system:serviceaccount:${SYSTEM}:`))
    .map((line) => JSON.parse(line) as AuditEvent)
}

/** What is applied and was not there yet counts as patched and needs the right to create it. */
function usesOf({ verb, user, objectRef, responseStatus }: AuditEvent): readonly Right[] {
  const { resource = '', subresource, name = '' } = objectRef ?? {}
  const full = subresource === undefined ? resource : `${resource}/${subresource}`
  const use = { account: user.username.split(':').at(-1) ?? '', verb, resource: full, name }
  const isNew = verb === 'patch' && responseStatus?.code === 201
  return isNew ? [use, { ...use, verb: 'create' }] : [use]
}

function covers(right: Right, use: Right): boolean {
  const isSame = right.account === use.account && right.verb === use.verb && right.resource === use.resource
  return isSame && (right.name === '*' || right.name === use.name)
}

function textOf({ account, verb, resource, name }: Right): string {
  return `${account}: ${verb} ${resource} ${name}`
}
