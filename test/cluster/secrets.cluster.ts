import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { commandWords, pageSnippets, snippetCommands } from '../support/page-snippets.ts'
import { IS_FULL } from '../support/proof.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'
import { createTestCa } from '../support/test-ca.ts'
import { agentPod, inAgent, inForce, ours, running, startVendor, type Vendor } from './agents.ts'
import { AGENTS, install, SYSTEM, secret } from './installation.ts'
import { apply, kube, kubectl, run } from './kubectl.ts'
import { kubeTools } from './tools/kube-tools.ts'

const PLUGIN = join(import.meta.dirname, '../../controlplane/cli/cluster/kubectl-chaperone.ts')
const GATEWAY = 'canaries'
const POD = 'curious'
const CANARIES = Array.from({ length: 20 }, (_, at) => ({
  name: `canary-${at}`,
  host: `canary-${at}.vendor.test`,
  value: `canary${at}${randomBytes(18).toString('hex')}`,
}))
/** As they are, and as programs write them down. */
const SOUGHT = CANARIES.flatMap(({ value }) => [
  value,
  Buffer.from(value).toString('base64').slice(0, 40),
  Buffer.from(value).toString('hex').slice(0, 40),
])
let vendor: Vendor
let upstream: Recorder

beforeAll(async () => {
  await install(inject('installation'))
  vendor = await startVendor(GATEWAY)
  const ca = createTestCa()
  upstream = await startRecorder({ tls: ca.issue(...CANARIES.map(({ host }) => host)) })
  const { hostAddress } = inject('installation').environment
  const url = `https://${hostAddress}:${upstream.port}`
  await apply(
    ...CANARIES.flatMap(({ name, host, value }) => [
      secret(AGENTS, name, { token: value }),
      ours('Connector', name, {
        ...{ type: 'generic', gatewayRefs: [{ name: GATEWAY }], domains: [host] },
        upstream: { url, caBundle: ca.cert, allowPrivateAddresses: true },
        ...{ auth: { type: 'bearer' }, credential: { secretRef: { name } } },
      }),
    ]),
    agentPod(POD, GATEWAY),
  )
  await running(POD)
  // The Gateway may be in force before the last of them has been handed to the control plane.
  const connectors = CANARIES.map(({ name }) => `connectors.chaperone.dev/${name}`)
  await kube(['wait', '-n', AGENTS, '--for=condition=Ready', '--timeout=90s', ...connectors])
  await inForce(GATEWAY)
}, 300_000)
afterAll(async () => {
  await upstream?.close()
  await vendor?.[Symbol.asyncDispose]()
})

const CALL_ALL = `
const hosts = ${JSON.stringify(CANARIES.map(({ host }) => host))}
for (const host of hosts) {
  const response = await fetch('https://' + host + '/things').catch((error) => error)
  console.log(host, response.status ?? response.cause?.code, JSON.stringify([...(response.headers ?? [])]))
}`

test('all twenty credentials are in use', async () => {
  const { stdout } = await inAgent(POD, ['node', '--input-type=module', '-e', CALL_ALL])
  for (const { host } of CANARIES) expect(stdout).toContain(`${host} 200`)
  const carried = upstream.seen.map((request) => request.header('authorization')).sort()
  expect(carried).toEqual(CANARIES.map(({ value }) => `Bearer ${value}`).sort())
  expect(SOUGHT.filter((text) => stdout.includes(text))).toEqual([])
})

/** Every file of the container that its root can open, /proc and /sys included, and its own memory. */
const SEARCH = `
import os, sys, json
wanted = [w.encode() for w in json.load(sys.stdin)]
endless = ('kmsg', 'kcore', 'kpagecount', 'kpageflags', 'kpagecgroup', 'pagemap', 'trace_pipe', 'mem')
# This program knows what it looks for.
own = ('/proc/%d/' % os.getpid(), '/proc/self/', '/proc/thread-self/')
read, found = 0, []
for folder, folders, names in os.walk('/'):
  if folder.startswith(own): folders[:] = []; continue
  for name in names:
    path = os.path.join(folder, name)
    if name in endless or path.startswith('/dev/') and not path.startswith('/dev/shm'): continue
    try:
      fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
      continue
    try:
      tail, left = b'', 256 << 20
      while left > 0:
        data = os.read(fd, 1 << 20)
        if not data: break
        left -= len(data)
        if any(w in tail + data for w in wanted): found.append(path); break
        tail = data[-128:]
      read += 1
    except OSError:
      pass
    finally:
      os.close(fd)
print(json.dumps({'read': read, 'found': found}))
`

test('and none of them is in anything that the agent’s container can read, /proc included', async () => {
  const program = ['exec', '-i', POD, '-n', AGENTS, '-c', 'agent', '--', 'python3', '-c', SEARCH]
  const { stdout, stderr } = await kubectl(program, JSON.stringify(SOUGHT))
  const answer = JSON.parse(stdout || `{"error":${JSON.stringify(stderr)}}`) as {
    readonly read: number
    readonly found: readonly string[]
  }
  console.log(`files read in the agent's container: ${answer.read}`)
  expect(answer.found).toEqual([])
  expect(answer.read).toBeGreaterThan(5_000)
}, 180_000)

test('a search like that does find what is there to be found', async () => {
  const program = `open('/tmp/planted', 'w').write(${JSON.stringify(SOUGHT[0])})`
  await inAgent(POD, ['python3', '-c', program])
  const search = ['exec', '-i', POD, '-n', AGENTS, '-c', 'agent', '--', 'python3', '-c', SEARCH]
  const { stdout } = await kubectl(search, JSON.stringify(SOUGHT))
  expect((JSON.parse(stdout) as { found: readonly string[] }).found).toEqual(['/tmp/planted'])
}, 180_000)

test('nor in any log, and in no object of the cluster but the Secrets themselves', async () => {
  const logs = await Promise.all([
    kube(['logs', POD, '-n', AGENTS, '--all-containers']),
    kube(['logs', '-n', SYSTEM, '-l', 'app.kubernetes.io/component=operator', '--tail=-1']),
    kube(['logs', '-n', SYSTEM, '-l', 'app.kubernetes.io/component=control-plane', '--tail=-1']),
  ])
  const kinds = 'cgw,ccon,cperm,cpol,pods,events,configmaps,deployments,leases'
  const objects = await kube(['get', kinds, '-A', '-o', 'yaml', '--show-managed-fields'])
  const everything = [...logs, objects].join('\n')
  expect(everything).toContain('canary-19')
  expect(SOUGHT.filter((text) => everything.includes(text))).toEqual([])
})

/** Runs the command of the page high-availability.md that has the verb (`kubectl chaperone keys VERB`), with JSON as its output. */
async function masterKey(verb: 'status' | 'rotate') {
  process.env['KUBECTL'] = (await kubeTools())?.kubectl
  const commands = snippetCommands(pageSnippets('high-availability.md', 'sh')[1] ?? '').map(commandWords)
  const words = commands.find((each) => each.at(-1) === verb) ?? []
  expect(words.slice(0, 2)).toEqual(['kubectl', 'chaperone'])
  const { code, stdout, stderr } = await run(process.execPath, [PLUGIN, ...words.slice(2), '--json'], '')
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as {
    readonly keys: readonly string[]
    readonly secrets: Readonly<Record<string, number>>
    readonly key: string
    readonly former: readonly string[]
  }
}

// The kubelet takes up to a minute and a half to write a changed Secret to the files of pods.
test.runIf(IS_FULL)(
  'the master key is replaced while the agent is served, and every credential is in use',
  async () => {
    const before = await masterKey('status')
    const startedAt = Date.now()
    const rotated = await masterKey('rotate')
    console.log(`master key rotated after ${Date.now() - startedAt} ms: ${JSON.stringify(rotated)}`)
    expect(rotated.former).toEqual(before.keys)
    expect(Object.keys((await masterKey('status')).secrets)).toEqual([rotated.key])
    // A control plane that starts now has the new key only.
    const plane = ['deployment/chaperone-control-plane', '-n', SYSTEM]
    await kube(['rollout', 'restart', ...plane])
    await kube(['rollout', 'status', ...plane, '--timeout=180s'])
    await inForce(GATEWAY)
    const { stdout } = await inAgent(POD, ['node', '--input-type=module', '-e', CALL_ALL])
    for (const { host } of CANARIES) expect(stdout).toContain(`${host} 200`)
  },
  600_000,
)
