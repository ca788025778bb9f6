import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { IS_FULL } from '../support/proof.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'
import { createTestCa } from '../support/test-ca.ts'
import { SYSTEM, secret, uninstall } from './installation.ts'
import { apply, get, kube, type Ran, run } from './kubectl.ts'
import { kubeTools } from './tools/kube-tools.ts'

const PAGE = join(import.meta.dirname, '../../docs/kubernetes.md')
const NAMESPACE = 'agents'
/** What the page says, in place of what only the reader has: a registry, a database, an image from there. */
const READERS = ['npm run release', 'skopeo ', 'kubectl create namespace chaperone-system', 'port-forward']
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
  await kube(['delete', 'namespace', NAMESPACE, '--ignore-not-found', '--timeout=90s'])
}, 180_000)

test('four commands lead from an empty cluster to the first governed call; the page goes on to the first approval and the stop', async () => {
  const [first = '', denied = ''] = await blocks('The first governed call')
  const [install = '', apply_ = '', rollout = '', call = '', ...others] = commandsOf(first)
  expect(others).toEqual([])
  const began = performance.now()
  await say(installing(install, '--set postgres.persistence.enabled=false'))
  await say(apply_.replace("'node:24'", inject('installation').environment.agentImage))
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
  const [columns = ''] = await blocks('Governed pods')
  await eventually(
    'the pod is counted',
    async () => (/default +full_enforce +transparent +1 /.test((await say(columns)).stdout) ? true : null),
    30_000,
  )

  const [, link = '', held = '', stop = ''] = await blocks('Approve, explain, stop')
  expect((await say(link)).stdout.match(/\/setup\?token=/g)).toHaveLength(2)
  const waiting = say(held)
  const id = await eventually(
    'the call waits',
    async () => /apv_\w+/.exec((await say('kubectl chaperone approvals ls')).stdout)?.[0] ?? null,
    30_000,
  )
  expect(vendor.seen).toHaveLength(1)
  await say(`kubectl chaperone approvals approve ${id}`)
  expect((await waiting).stdout).toContain('{"ok":true}')
  expect(vendor.seen).toHaveLength(2)

  await say(stop)
  const refused = await eventually('the stop', async () => {
    const { stdout } = await say(call)
    return stdout.includes('incident 42') ? stdout : null
  })
  expect(refused).toContain('incident 42')
  expect(vendor.seen.length).toBeGreaterThanOrEqual(2)

  const plugin = await blocks('With kubectl')
  const pod = (
    await kube(['get', 'pods', '-n', NAMESPACE, '-o', 'jsonpath={.items[0].metadata.name}'])
  ).trim()
  const words = (plugin[0] ?? '').split('\n').filter((line) => !line.includes('approvals'))
  const said = await say(words.join('\n').replace(' POD ', ` ${pod} `))
  expect(said.stdout).toContain(`governed: by Gateway ${NAMESPACE}/default`)
}, 600_000)

test.runIf(IS_FULL)(
  'the page installs with a database of the reader',
  async () => {
    await kube(['delete', 'namespace', NAMESPACE, '--timeout=90s'])
    await uninstall()
    await kube(['delete', 'secret', 'chaperone-postgres', '-n', SYSTEM, '--ignore-not-found'])
    const [block = ''] = await blocks('Install')
    const ofTheReader = ['create secret generic chaperone-database', "--from-literal=url='postgres"]
    const lines = block.split('\n').filter((line) => !ofTheReader.some((own) => line.includes(own)))
    const said = await say(installing(lines.join('\n')))
    expect(said.stdout).toContain('an annotated pod gets chaperone-rules and chaperone-proxy')
  },
  400_000,
)

/** The commands under a heading, block by block. */
async function blocks(heading: string): Promise<readonly string[]> {
  const text = readFileSync(PAGE, 'utf8')
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) =>
    block
      .split('\n')
      .filter((line) => !READERS.some((own) => line.includes(own)))
      .join('\n'),
  )
}

/** The commands of a block, each with its here-document. */
function commandsOf(block: string): readonly string[] {
  return block.split(/^(?=helm |kubectl )/m).filter((command) => command.trim() !== '')
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
