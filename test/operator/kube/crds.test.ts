import { execFile } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { PolicySpec } from '../../../core/crd/policy/policy-spec.ts'
import {
  API_VERSION,
  ConnectorResource,
  GatewayResource,
  PermissionResource,
  PermissionSpec,
  PolicyResource,
} from '../../../core/crd/schemas.ts'
import { kubeTools } from '../../cluster/tools/kube-tools.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../support/kube-api-server.ts'
import { type Cluster, type OurKind, openCluster } from './cluster.ts'

const assets = kubeAssets()
const tools = assets === null ? null : await kubeTools()
const RESOURCES = {
  Gateway: GatewayResource,
  Connector: ConnectorResource,
  Permission: PermissionResource,
  Policy: PolicyResource,
}
const SPECS = {
  Gateway: GatewaySpec,
  Connector: ConnectorSpec,
  Permission: PermissionSpec,
  Policy: PolicySpec,
}

describe.skipIf(assets === null)(`the custom resources on a real API server (${KUBE_ASSETS_HINT})`, () => {
  let server: KubeApiServer
  let cluster: Cluster
  beforeAll(async () => {
    server = await startKubeApiServer()
    cluster = openCluster(server)
    await cluster.installCrds()
    await cluster.namespace('team')
  })
  afterAll(async () => {
    cluster?.[Symbol.dispose]()
    await server?.[Symbol.asyncDispose]()
  })

  const rule = { connectorType: 'codehost', actionPattern: 'codehost.pr.*', decision: 'allow' }
  const GOOD: ReadonlyArray<readonly [OurKind, string, object]> = [
    ['Gateway', 'empty', {}],
    [
      'Gateway',
      'nested-defaults',
      { egress: {}, killSwitch: { active: true }, trust: { extraSecretRef: { name: 'x' } } },
    ],
    [
      'Gateway',
      'full',
      {
        enforcementLevel: 'monitor',
        interception: 'auto',
        autoAllows: ['proxyEnv'],
        inbound: 'deny',
        allowedNamespaces: { permissions: { from: 'Selector', names: ['a'] }, agents: { from: 'All' } },
        killSwitch: {
          active: false,
          scopes: [
            { kind: 'Connector', name: 'codehost' },
            { kind: 'Agent', name: 'x/y' },
            { kind: 'Claim', name: 'team/alice' },
            { kind: 'Pod', name: 'bot-0' },
          ],
        },
        sidecar: { resources: { requests: { cpu: 1, memory: '90Mi' }, limits: { cpu: '250m' } } },
        egress: {
          allowedHosts: ['*.example.com'],
          tcp: [
            { host: 'db', port: 5432 },
            { host: 'db', port: 5433 },
          ],
        },
      },
    ],
    ['Connector', 'codehost', { type: 'codehost', credential: { secretRef: { name: 'codehost' } } }],
    [
      'Connector',
      'app',
      { type: 'codehost', credential: { vault: 'a', githubApp: { appId: '12', installationId: 3 } } },
    ],
    [
      'Connector',
      'minted',
      {
        type: 'codehost',
        credential: {
          secretRef: { name: 'codehost' },
          oauth2: { tokenUrl: 'https://login.example.com/token', clientId: 'a', scopes: ['repo.read'] },
        },
      },
    ],
    [
      'Connector',
      'scoped',
      {
        type: 'codehost',
        credential: {
          secretRef: { name: 'codehost' },
          oauth2: {
            ...{ tokenUrl: 'https://login.example.com/token', clientId: 'a', scopes: ['repo.read'] },
            scopesByAction: [{ actionPattern: 'codehost.pr.*', scopes: ['repo.read'] }],
          },
        },
      },
    ],
    ['Connector', 'vaulted', { type: 'codehost', credential: { vault: 'codehost' } }],
    ['Connector', 'mounted', { type: 'codehost', credential: { file: { path: '/mnt/team/token' } } }],
    [
      'Connector',
      'generic',
      { type: 'generic', domains: ['api.example.com'], auth: { type: 'header', header: 'X-API-Key' } },
    ],
    [
      'Connector',
      'rows',
      {
        type: 'mcp',
        baseUrl: 'https://mcp.example.com/mcp',
        upstream: { url: 'http://mcp:8000', allowPrivateAddresses: true },
        actions: [{ method: 'GET', path: '/a/{id}', action: 'mcp.a.get', effect: 'read', risk: 'low' }],
      },
    ],
    [
      'Connector',
      'triggers',
      { type: 'codehost', agentTriggers: { labels: ['autofix', 'bot: *'], mentions: ['acme/fixers'] } },
    ],
    ['Connector', 'endpoint', { type: 'mcp', domains: ['mcp.example.com'], endpoint: ['/mcp', '/sse/'] }],
    [
      'Connector',
      'tool-effects',
      { type: 'mcp', domains: ['mcp.example.com'], mcp: { tools: [{ name: 'rm_*', effects: ['delete'] }] } },
    ],
    ['Permission', 'p', { gatewayRefs: [{ name: 'full' }], rules: [rule] }],
    [
      'Policy',
      'pol',
      {
        scope: { actions: ['codehost.*'] },
        rules: [{ name: 'r', conditions: ['true'], decision: 'deny' }],
        tests: [
          {
            name: 't',
            action: {
              type: 'codehost.pr.merge',
              resource: { provider: 'codehost' },
              parameters: { deep: { er: [1] } },
            },
            expect: { outcome: 'deny' },
          },
        ],
      },
    ],
  ]
  test.each(GOOD)(
    'a good %s (%s) is taken and filled in exactly as the schemas do',
    async (kind, name, spec) => {
      const stored = await cluster.create(kind, 'team', name, spec)
      expect(stored['spec']).toEqual(JSON.parse(JSON.stringify(SPECS[kind].parse(spec))))
    },
  )

  const BAD: ReadonlyArray<readonly [OurKind, object, string]> = [
    ['Gateway', { enforcementLevel: 'loose' }, 'spec.enforcementLevel'],
    ['Gateway', { inbound: true }, 'spec.inbound'],
    ['Gateway', { autoAllows: ['transparent'] }, 'spec.autoAllows'],
    ['Gateway', { enforcmentLevel: 'monitor' }, 'spec.enforcmentLevel'],
    ['Gateway', { egress: { allowedHosts: ['no spaces'] } }, 'spec.egress.allowedHosts[0]'],
    ['Gateway', { egress: { allowedHosts: ['a', 'a'] } }, 'spec.egress.allowedHosts[1]'],
    [
      'Gateway',
      { killSwitch: { active: true, scopes: [{ kind: 'Team', name: 'x' }] } },
      'spec.killSwitch.scopes[0].kind',
    ],
    ['Gateway', { killSwitch: { active: true, scopes: ['agent:x'] } }, 'spec.killSwitch.scopes[0]'],
    [
      'Gateway',
      { killSwitch: { scopes: ['x', 'x'].map((name) => ({ kind: 'Agent', name })) } },
      'spec.killSwitch.scopes[1]',
    ],
    ['Gateway', { killSwitch: { active: true, scopes: [] } }, 'spec.killSwitch.scopes'],
    ['Gateway', { failurePolicy: { highRiskAfterSeconds: 500 } }, 'spec.failurePolicy'],
    [
      'Gateway',
      { sidecar: { resources: { requests: { cpu: 'lots' } } } },
      'spec.sidecar.resources.requests.cpu',
    ],
    ['Gateway', { sidecar: { resources: { requests: { gpu: '1' } } } }, 'gpu'],
    ['Connector', { type: 'ftp' }, 'spec.type'],
    ['Connector', { type: 'generic' }, 'spec.domains'],
    ['Connector', { type: 'codehost', auth: { type: 'header' } }, 'spec.auth.header'],
    ['Connector', { type: 'codehost', upstream: { url: 'http://x' } }, 'spec.upstream.url'],
    ...['http://x', 'HTTP://x', 'hTtP://x'].map(
      (url) =>
        [
          'Connector',
          {
            ...{ type: 'codehost', credential: { secretRef: { name: 'a' } } },
            upstream: { url, allowPrivateAddresses: true },
          },
          'allowPlaintextCredential',
        ] as const,
    ),
    ['Connector', { type: 'codehost', ports: [70_000] }, 'spec.ports[0]'],
    ['Connector', { type: 'codehost', ports: [] }, 'spec.ports'],
    ['Policy', { rules: [{ name: 'r', decision: 'deny' }], mode: 'off' }, 'spec.mode'],
    ['Connector', { type: 'mcp', domains: ['a'], endpoint: ['mcp'] }, 'spec.endpoint[0]'],
    ['Connector', { type: 'mcp', domains: ['a'], endpoint: ['/mcp', '/mcp'] }, 'spec.endpoint[1]'],
    ['Connector', { type: 'codehost', endpoint: ['/mcp'] }, 'spec.endpoint'],
    [
      'Connector',
      { type: 'codehost', mcp: { tools: [{ name: 'a', effects: ['delete'] }] } },
      'spec.mcp.tools',
    ],
    [
      'Connector',
      { type: 'mcp', domains: ['a'], mcp: { tools: [{ name: 'a*b', effects: ['delete'] }] } },
      'spec.mcp.tools[0].name',
    ],
    ['Connector', { type: 'payments', agentTriggers: {} }, 'spec.agentTriggers'],
    ['Connector', { type: 'codehost', agentTriggers: { labels: ['a*b'] } }, 'spec.agentTriggers.labels[0]'],
    [
      'Connector',
      { type: 'codehost', agentTriggers: { mentions: ['@a'] } },
      'spec.agentTriggers.mentions[0]',
    ],
    ['Connector', { type: 'codehost', credential: {} }, 'spec.credential'],
    [
      'Connector',
      { type: 'codehost', credential: { vault: 'a', secretRef: { name: 'a' } } },
      'must have exactly one of secretRef, vault, env, file and exec',
    ],
    ['Connector', { type: 'codehost', credential: { vault: 'A b' } }, 'spec.credential.vault'],
    ['Connector', { type: 'codehost', credential: { vault: 'a', env: { name: 'A' } } }, 'spec.credential'],
    ['Connector', { type: 'codehost', credential: { file: { path: 'a' } } }, 'spec.credential.file.path'],
    [
      'Connector',
      { type: 'codehost', credential: { file: { path: '/a/../b' } } },
      'spec.credential.file.path',
    ],
    [
      'Connector',
      { type: 'codehost', credential: { exec: { command: './a' } } },
      'spec.credential.exec.command',
    ],
    [
      'Connector',
      { type: 'codehost', credential: { vault: 'a', githubApp: { appId: '12', installationId: 0 } } },
      'spec.credential.githubApp.installationId',
    ],
    [
      'Connector',
      {
        type: 'chat',
        credential: { vault: 'a', oauth2: { tokenUrl: 'https://login.example.com/token', clientId: 'a' } },
      },
      'must be a stored token for type chat',
    ],
    [
      'Connector',
      {
        type: 'codehost',
        credential: {
          vault: 'a',
          oauth2: { tokenUrl: 'https://login.example.com', clientId: 'a', scopes: ['a b'] },
        },
      },
      'spec.credential.oauth2.scopes[0]',
    ],
    [
      'Connector',
      {
        type: 'codehost',
        credential: {
          vault: 'a',
          oauth2: {
            ...{ tokenUrl: 'https://login.example.com', clientId: 'a', scopes: ['repo.read'] },
            scopesByAction: [{ actionPattern: 'codehost.pr.*', scopes: ['repo.write'] }],
          },
        },
      },
      'must have only scopes that the field scopes of the Connector lists',
    ],
    [
      'Connector',
      { type: 'codehost', tls: { mode: 'passthrough' }, credential: { secretRef: { name: 'a' } } },
      'spec.credential',
    ],
    [
      'Connector',
      {
        type: 'mcp',
        domains: ['a'],
        actions: [{ method: 'GET', path: '/', action: 'chat.a.b', effect: 'read', risk: 'low' }],
      },
      'spec.actions',
    ],
    ['Permission', { gatewayRefs: [{ name: 'g' }], rules: [] }, 'spec.rules'],
    ['Permission', { rules: [rule] }, 'spec.gatewayRefs'],
    [
      'Permission',
      { gatewayRefs: [{ name: 'g' }], rules: [rule, { ...rule, decision: 'deny' }] },
      'spec.rules[1]',
    ],
    [
      'Permission',
      { gatewayRefs: [{ name: 'g' }], rules: [{ ...rule, actionPattern: 'a*b' }] },
      'spec.rules[0].actionPattern',
    ],
    ['Policy', { rules: [{ name: 'r', decision: 'maybe' }] }, 'spec.rules[0].decision'],
    [
      'Policy',
      { rules: [{ name: 'r', decision: 'deny', conditions: ['x'.repeat(2_001)] }] },
      'spec.rules[0].conditions[0]',
    ],
    [
      'Policy',
      { rules: [{ name: 'r', decision: 'deny' }], gatewayRefs: [{ name: 'X' }] },
      'spec.gatewayRefs[0].name',
    ],
  ]
  test.each(BAD)('a bad %s (%j) is refused with a message that names %s', async (kind, spec, field) => {
    const refused = cluster.create(kind, 'team', 'bad', spec)
    await expect(refused).rejects.toThrow(field)
    const metadata = { name: 'bad', namespace: 'team' }
    const folder = RESOURCES[kind].safeParse({ apiVersion: API_VERSION, kind, metadata, spec })
    expect(folder.success, 'the manifests folder takes what the API server refuses').toBe(false)
  })

  test('the type of a Connector is immutable, and its other fields are not', async () => {
    await cluster.create('Connector', 'team', 'fixed', { type: 'codehost' })
    const patch = (spec: object) => cluster.patch('Connector', 'team', 'fixed', { spec })
    await expect(patch({ type: 'chat' })).rejects.toThrow('spec.type: Invalid value')
    await patch({ environment: 'production' })
  })

  const COLUMNS: ReadonlyArray<readonly [OurKind, string, readonly string[]]> = [
    ['Gateway', 'gateways', ['Enforcement', 'Interception', 'Pods', 'Killed', 'Ready', 'Age']],
    ['Connector', 'connectors', ['Type', 'Domains', 'Ready', 'Age']],
    ['Permission', 'permissions', ['Gateway', 'Rules', 'Accepted', 'Age']],
    ['Policy', 'policies', ['Mode', 'Priority', 'Accepted', 'Tests', 'Passed', 'Age']],
  ]
  test.each(COLUMNS)('kubectl get shows the columns of a %s', async (_kind, plural, columns) => {
    const answer = await fetchTable(server, `/apis/chaperone.dev/v1alpha1/namespaces/team/${plural}`)
    const shown = answer.columnDefinitions.filter(({ priority }) => priority === 0)
    expect(shown.map(({ name }) => name)).toEqual(['Name', ...columns])
  })

  test.skipIf(tools === null)(
    'kubectl explain shows description, default, bounds and example of a field',
    async () => {
      const field = 'gateways.chaperone.dev.spec.rateLimit.requestsPerMinute'
      const arguments_ = ['explain', field, '--kubeconfig', server.kubeconfigPath]
      const { stdout } = await promisify(execFile)(tools?.kubectl ?? '', arguments_)
      const shown = stdout.replace(/\s+/g, ' ')
      expect(shown).toContain('Requests of one agent in a minute, over all gateway processes together.')
      expect(shown).toContain('Default: 120. Bounds: 1 to 1000000. Example: 600')
    },
  )

  test('their columns show the status', async () => {
    await cluster.create('Gateway', 'team', 'shown', { enforcementLevel: 'monitor' })
    const condition = {
      ...{ type: 'Ready', status: 'False', reason: 'NotAccepted', message: 'not yet' },
      ...{ observedGeneration: 1, lastTransitionTime: '2026-01-01T00:00:00Z' },
    }
    const killed = { ...condition, type: 'KillSwitchActive', status: 'True', reason: 'Gateway' }
    const status = { pods: { governed: 3, ready: 2 }, conditions: [condition, killed] }
    const path = '/apis/chaperone.dev/v1alpha1/namespaces/team/gateways/shown/status'
    const contentType = 'application/merge-patch+json'
    const write = (body: object) => cluster.client.call({ method: 'PATCH', path, contentType, body })
    await write({ status })
    const { rows } = await fetchTable(server, '/apis/chaperone.dev/v1alpha1/namespaces/team/gateways/shown')
    expect(rows[0]?.cells.slice(0, 6)).toEqual(['shown', 'monitor', 'transparent', 3, 'True', 'False'])
  })

  test('accept the status of a newer operator, with types, reasons and fields that they do not know', async () => {
    await cluster.create('Gateway', 'team', 'newer', {})
    const condition = {
      ...{ type: 'QuotaExceeded', status: 'True', reason: 'of:another/kind', message: 'new' },
      ...{ observedGeneration: 1, lastTransitionTime: '2026-01-01T00:00:00.123456+02:00' },
    }
    const status = { gateways: { connected: 1, draining: 1 }, zones: ['a'], conditions: [condition] }
    const path = '/apis/chaperone.dev/v1alpha1/namespaces/team/gateways/newer/status'
    const contentType = 'application/merge-patch+json'
    await cluster.client.call({ method: 'PATCH', path, contentType, body: { status } })
    const { status: stored } = await cluster.get('Gateway', 'team', 'newer')
    expect(stored).toMatchObject({ gateways: { connected: 1 }, conditions: [condition] })
  })

  test('they have their short names, one category, and a status of their own', async () => {
    const { resources } = await cluster.client.call<{
      resources: Array<{ name: string; shortNames?: string[]; categories?: string[] }>
    }>({ method: 'GET', path: '/apis/chaperone.dev/v1alpha1' })
    const names = Object.fromEntries(resources.map(({ name, shortNames }) => [name, shortNames?.[0]]))
    expect(names).toMatchObject({
      gateways: 'cgw',
      connectors: 'ccon',
      permissions: 'cperm',
      policies: 'cpol',
    })
    expect(Object.keys(names)).toContain('gateways/status')
    expect(resources.filter(({ categories }) => categories?.includes('chaperone'))).toHaveLength(4)
  })
})

type Table = {
  readonly columnDefinitions: ReadonlyArray<{ readonly name: string; readonly priority: number }>
  readonly rows: ReadonlyArray<{ readonly cells: readonly unknown[] }>
}

/** As kubectl asks for what it prints. */
async function fetchTable({ url, caPem, adminToken }: KubeApiServer, path: string): Promise<Table> {
  const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1'
  const asked = request(`${url}${path}`, {
    ca: caPem,
    headers: { accept, authorization: `Bearer ${adminToken}` },
  })
  asked.end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return JSON.parse(await text(answer)) as Table
}
