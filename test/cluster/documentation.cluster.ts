import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { eventually } from '../support/eventually.ts'
import { pageSnippets, snippetCommands, withReaderValues } from '../support/page-snippets.ts'
import { IS_FULL } from '../support/proof.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'
import { createTestCa } from '../support/test-ca.ts'
import { agentPod, type PodShape } from './agents.ts'
import { SYSTEM, secret, uninstall } from './installation.ts'
import { apply, get, isAllowed, kube, type Ran, run } from './kubectl.ts'
import { kubeTools } from './tools/kube-tools.ts'

const PAGE = join(import.meta.dirname, '../../docs/kubernetes.md')
const NAMESPACE = 'agents'
/** What the page says, in place of what only the reader has: a registry, a database, an image from there. */
const READERS = ['npm run release', 'skopeo ', 'kubectl create namespace chaperone-system', 'port-forward']
/** Sections of the page with commands. */
const SECTIONS = [
  ...['The first governed call', 'Install', 'Governed pods', 'Approve, explain, stop'],
  ...['The journal of a sidecar', 'With kubectl'],
]
let folder: string
let vendor: Recorder
let upstream: { readonly url: string; readonly caBundle: string; readonly allowPrivateAddresses: true }

beforeAll(async () => {
  await uninstall()
  await kube(['delete', 'namespace', NAMESPACE, '--ignore-not-found', '--timeout=90s'])
  const found = await kubeTools()
  if (found === null) throw new Error('no kubectl and helm')
  folder = mkdtempSync(join(tmpdir(), 'chaperone-page-'))
  for (const [name, program] of Object.entries(found)) symlinkSync(program, join(folder, name))
  symlinkSync(join(import.meta.dirname, '../../scripts/kubectl-chaperone'), join(folder, 'kubectl-chaperone'))
  const ca = createTestCa()
  vendor = await startRecorder({ tls: ca.issue('api.github.com') })
  const { hostAddress } = inject('installation').environment
  upstream = { url: `https://${hostAddress}:${vendor.port}`, caBundle: ca.cert, allowPrivateAddresses: true }
  const database = await get<{ readonly data: { readonly url: string } }>('secret', 'database', SYSTEM)
  const url = Buffer.from(database?.data.url ?? '', 'base64').toString()
  await apply(secret(SYSTEM, 'chaperone-database', { url }))
}, 180_000)
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await vendor?.close()
  await kube(['delete', 'rolebinding', 'callers', '-n', SYSTEM, '--ignore-not-found'])
  await kube(['delete', 'namespace', NAMESPACE, '--ignore-not-found', '--timeout=90s'])
}, 180_000)

const [firstCall = '', denied = ''] = blocks('The first governed call')
const [install = '', applyFirst = '', rollout = '', call = ''] = snippetCommands(firstCall)

test('every section of the page with commands is run', () => {
  const headings = [...readFileSync(PAGE, 'utf8').matchAll(/^## (.*)$/gm)].map(([, heading = '']) => heading)
  expect(headings.filter((heading) => blocks(heading).length > 0)).toEqual(SECTIONS)
  expect(snippetCommands(firstCall)).toHaveLength(4)
})

test('four commands lead from an empty cluster to the first governed call', async () => {
  const began = performance.now()
  await say(installing(install, '--set postgres.persistence.enabled=false'))
  await say(applyFirst.replace("'node:24'", inject('installation').environment.agentImage))
  // The vendor of the test in place of the real one.
  const patch = JSON.stringify({ spec: { upstream } })
  await kube(['patch', 'ccon', 'codehost', '-n', NAMESPACE, '--type=merge', '-p', patch])
  await say(rollout)
  const called = await say(call)
  console.log(`4 commands to the first governed call: ${Math.round((performance.now() - began) / 1_000)} s`)
  expect(called.stdout).toContain('{"ok":true}')
  expect(vendor.seen.map((seen) => seen.header('authorization'))).toEqual([
    expect.stringMatching(/^(token|Bearer) ghp_the_real_one$/),
  ])
  expect((await say(denied)).stdout).toContain('codehost.repo.delete')
  expect(await kube(['logs', 'statefulset/chaperone-postgres', '-n', SYSTEM])).not.toContain('FATAL')
  const [columns = ''] = blocks('Governed pods')
  await eventually(
    'the pod is counted',
    async () => (/default +full_enforce +transparent +1 /.test((await say(columns)).stdout) ? true : null),
    30_000,
  )
}, 300_000)

const [, link = '', held = '', stop = '', emergency = ''] = blocks('Approve, explain, stop')

test('a held call is approved for a time', async () => {
  const waiting = say(held)
  const id = await eventually(
    'the call waits',
    async () => /apv_\w+/.exec((await say('kubectl chaperone approvals ls')).stdout)?.[0] ?? null,
    30_000,
  )
  expect(vendor.seen).toHaveLength(1)
  const approved = await say(`kubectl chaperone approvals approve ${id} --for 1h`)
  expect(approved.stdout).toContain(`${id} is approved`)
  expect((await waiting).stdout).toContain('{"ok":true}')
  expect(vendor.seen).toHaveLength(2)
})

// While the operator writes the Permission of the grant.
test('the owner link is printed, and the token of the owner opens for a time (users.md)', async () => {
  const [read = '', open = ''] = pageSnippets('users.md', 'sh')
  expect((await say(read)).stdout.match(/\/setup\?token=/g)).toHaveLength(1)
  expect((await say(link)).stdout.match(/\/setup\?token=/g)).toHaveLength(2)
  expect((await say(open)).stdout).toContain("The owner's token works until")
  expect((await say('kubectl chaperone break-glass --for 0')).stdout).toContain('is closed')
})

test('the RoleBindings of the pages give the rights that the pages name', async () => {
  const [, , security = '', ...others] = pageSnippets('users.md', 'sh')
  const [approvers = '', , onCall = ''] = pageSnippets('tenancy.md', 'sh')
  const [, callers = ''] = blocks('With kubectl')
  expect(others).toEqual([])
  await say([approvers, security, onCall, callers].join('\n'))
  const answer = { group: 'chaperone.dev', resource: 'approvals', verb: 'answer', namespace: NAMESPACE }
  const emergencies = { resource: 'configmaps', name: 'chaperone-emergency', namespace: NAMESPACE }
  const plane = { resource: 'services', name: 'chaperone-control-plane', namespace: SYSTEM }
  const may = (group: string, attributes: Readonly<Record<string, string>>) =>
    isAllowed({ user: 'ann', groups: [group] }, attributes)
  await eventually('the bindings are in force', async () => {
    const allowed = await Promise.all([
      may('team-a', answer),
      may('security', answer),
      may('on-call', { ...emergencies, verb: 'patch' }),
      may('team-a', { ...plane, verb: 'get' }),
    ])
    return allowed.every(Boolean) || null
  })
  expect(await may('on-call', answer)).toBe(false)
})

test('the Permission of a grant is listed, and its deletion revokes the grant (held-requests.md)', async () => {
  const [block = '', ...others] = pageSnippets('held-requests.md', 'sh')
  expect(others).toEqual([])
  const [list = '', remove = ''] = snippetCommands(block)
  expect((await say(held)).stdout).toContain('{"ok":true}')
  expect(vendor.seen).toHaveLength(3)
  const name = await eventually('the operator writes the Permission', async () => {
    return /^agents +(grant-\S+)/m.exec((await say(list)).stdout)?.[1] ?? null
  })
  const ofThePage = /permission (?<name>grant-\S+)/.exec(remove)?.groups?.['name'] ?? ''
  await say(withReaderValues(remove, { [ofThePage]: name }))
  await eventually('the grant is revoked', async () =>
    / revoked /.test((await say('kubectl chaperone approvals grants')).stdout) ? true : null,
  )
})

test('the emergency ConfigMap stops the agents of the namespace and lets them continue (tenancy.md)', async () => {
  const [on = '', off = '', ...others] = snippetCommands(pageSnippets('tenancy.md', 'sh')[1] ?? '')
  expect(others).toEqual([])
  expect(on).toBe(emergency)
  await say(on)
  await eventually('the call is refused', async () =>
    (await say(call)).stdout.includes('incident 42') ? true : null,
  )
  await say(off)
  await eventually('the call passes', async () => ((await say(call)).stdout.includes('"ok"') ? true : null))
})

const [plugin = ''] = blocks('With kubectl')
const [status = '', doctor = '', explain = '', , killOn = '', killOff = ''] = snippetCommands(plugin)

test('the plugin shows what runs, examines a governed pod, and explains before anything is sent', async () => {
  expect(snippetCommands(plugin)).toHaveLength(6)
  const row = new RegExp(`${NAMESPACE} +default +full_enforce +transparent +1 `)
  const shown = await eventually(
    'the Gateway counts its pod',
    async () => {
      const { stdout } = await say(status)
      return row.test(stdout) ? stdout : null
    },
    30_000,
  )
  expect(shown).toMatch(/^control plane {2}healthy at https:\/\/localhost:\d+/m)
  expect(shown).toMatch(/kill switch {4}not active/)

  const pods = ['get', 'pods', '-n', NAMESPACE, '-o', 'jsonpath={.items[0].metadata.name}']
  const { stdout } = await say(withReaderValues(doctor, { ' POD ': ` ${(await kube(pods)).trim()} ` }))
  expect(stdout).toContain(`governed: by Gateway ${NAMESPACE}/default`)
  expect(stdout).toMatch(/layer: Captured/)
  expect(stdout).toMatch(/rules: set/)
  expect(stdout).toMatch(/sidecar: ready/)
  expect(stdout).toMatch(/agent: stripe: .*\n.*ca_bundle_path/)
  expect(stdout).not.toContain('outdated')

  const before = vendor.seen.length
  const explained = await say(explain)
  expect(explained.stdout).toContain('codehost.repo.delete')
  expect(explained.stdout).toMatch(/deny|denied/i)
  expect(vendor.seen).toHaveLength(before)
})

test('the plugin reports an ungoverned pod and a missing pod', async () => {
  await apply({ ...agentPod('free', 'default'), metadata: { name: 'free', namespace: NAMESPACE } })
  await kube(['wait', 'pod/free', '-n', NAMESPACE, '--for=condition=Ready', '--timeout=90s'])
  const examine = (pod: string) => say(`kubectl chaperone doctor ${pod} -n ${NAMESPACE}`)
  expect((await examine('free')).stdout).toMatch(/warning {2}governed: no/)
  await expect(examine('nobody')).rejects.toThrow('There is no pod nobody')
  await kube(['delete', 'pod', 'free', '-n', NAMESPACE, '--wait=false'])
})

test('the plugin prints the same pod as the webhook creates, or the conflicting fields', async () => {
  const file = join(folder, 'pod.yaml')
  const write = (shape?: PodShape) => {
    const pod = agentPod('printed', 'default', shape)
    writeFileSync(file, JSON.stringify({ ...pod, metadata: { ...pod.metadata, namespace: NAMESPACE } }))
  }
  const inject = `kubectl chaperone inject -f ${file} --gateway ${NAMESPACE}/default -n ${NAMESPACE}`
  type Pod = { readonly spec: { readonly initContainers: ReadonlyArray<{ readonly name: string }> } }
  const names = ({ spec }: Pod) => spec.initContainers.map(({ name }) => name)
  write()
  const printed = parse((await say(inject)).stdout) as Pod
  const stored = JSON.parse(await kube(['create', '--dry-run=server', '-o', 'json', '-f', file])) as Pod
  expect(names(printed)).toEqual(names(stored))
  write({ spec: { hostNetwork: true } })
  await expect(say(inject)).rejects.toThrow('spec.hostNetwork')
})

test('the kill switch of the plugin stops the agents and says how many, and lets them continue', async () => {
  expect((await say(killOn)).stdout).toMatch(/\d+ of \d+ gateways? acknowledged in \d+ ms/)
  const before = vendor.seen.length
  expect((await say(call)).stdout).toContain('incident 42')
  expect(vendor.seen).toHaveLength(before)
  expect((await say(killOff)).stdout).toContain('No kill switch is active.')
  await eventually('the call passes', async () => ((await say(call)).stdout.includes('"ok"') ? true : null))
})

test('the kill switch of the Gateway stops its agents', async () => {
  await say(stop)
  await eventually('the call is refused', async () =>
    (await say(call)).stdout.includes('incident 42') ? true : null,
  )
  const before = vendor.seen.length
  expect((await say(call)).stdout).toContain('incident 42')
  expect(vendor.seen).toHaveLength(before)
})

test('a Gateway with `audit: sync` has pods whose journal is on the disk of the node', async () => {
  const [journal = ''] = blocks('The journal of a sidecar')
  type Pod = { readonly spec: { readonly volumes: readonly Volume[] } }
  const onDisk = async () => {
    const pods = await kube(['get', 'pods', '-n', NAMESPACE, '-o', 'json'])
    const { items } = JSON.parse(pods) as { readonly items: readonly Pod[] }
    return items.flatMap(({ spec }) => spec.volumes.filter(isOnDisk)).length
  }
  expect(await onDisk()).toBe(0)
  await say(journal)
  await eventually('the new pod has a volume on the disk', async () => ((await onDisk()) === 1 ? true : null))
})

test.runIf(IS_FULL)(
  'the page installs with a database of the reader',
  async () => {
    await removeAll()
    const [block = ''] = blocks('Install')
    const ofTheReader = ['create secret generic chaperone-database', "--from-literal=url='postgres"]
    const lines = block.split('\n').filter((line) => !ofTheReader.some((own) => line.includes(own)))
    const said = await say(installing(lines.join('\n')))
    expect(said.stdout).toContain('an annotated pod gets chaperone-rules and chaperone-proxy')
  },
  400_000,
)

test.runIf(IS_FULL)(
  'installation.md installs with the values of production',
  async () => {
    await removeAll()
    const [block = '', ...others] = pageSnippets('installation.md', 'sh')
    expect(others).toEqual([])
    const values = join(folder, 'own-values.yaml')
    const repository = inject('installation').image.split(':')[0] ?? ''
    writeFileSync(
      values,
      stringify({ image: { repository }, database: { urlSecret: { name: 'chaperone-database' } } }),
    )
    await say(installing(withReaderValues(block, { 'own-values.yaml': values })))
    const plane = await get<{ readonly spec: { readonly template: { readonly spec: object } } }>(
      'deployment',
      'chaperone-control-plane',
      SYSTEM,
    )
    expect(plane?.spec.template.spec).toMatchObject({ priorityClassName: 'system-cluster-critical' })
  },
  400_000,
)

type Volume = { readonly emptyDir?: { readonly medium?: string } }

const isOnDisk = ({ emptyDir }: Volume) => emptyDir !== undefined && emptyDir.medium === undefined

async function removeAll(): Promise<void> {
  await kube(['delete', 'namespace', NAMESPACE, '--ignore-not-found', '--timeout=90s'])
  await uninstall()
  await kube(['delete', 'secret', 'chaperone-postgres', '-n', SYSTEM, '--ignore-not-found'])
}

/** The commands under a heading of the page without those of the reader, block by block. */
function blocks(heading: string): readonly string[] {
  return pageSnippets('kubernetes.md', 'sh', heading).map((block) =>
    block
      .split('\n')
      .filter((line) => !READERS.some((own) => line.includes(own)))
      .join('\n'),
  )
}

/** The installation of the page with what this cluster has besides: the image under its own name, the ports of its API server. */
function installing(command: string, more = ''): string {
  const { image, values } = inject('installation')
  const [repository = '', tag = ''] = image.split(':')
  expect(tag).not.toBe('')
  const further = values.filter((value) =>
    /^(image\.(tag|pullPolicy)|postgres\.image|networkPolicy\.)/.test(value),
  )
  return command
    .replace('image.repository=registry.example/chaperone', `image.repository=${repository}`)
    .replace(
      'helm install chaperone ./helm',
      `helm install chaperone ./helm ${further.map((value) => `--set ${value}`).join(' ')} ${more}`,
    )
}

/** As a shell would, from the root of the checkout; the first command that fails ends it. */
async function say(commands: string): Promise<Ran> {
  const root = dirname(dirname(PAGE))
  const script = `export PATH="${folder}:$PATH"; cd "${root}"; ${commands}`
  const ran = await run('bash', ['-euo', 'pipefail', '-c', script], '')
  console.log(`${commands.trim()}\n${ran.stdout}${ran.stderr}`)
  if (ran.code !== 0) throw new Error(`${commands.trim()}\n${ran.stdout}${ran.stderr}`)
  return ran
}
