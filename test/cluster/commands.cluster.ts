import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { parse } from 'yaml'
import { eventually } from '../support/eventually.ts'
import { agentPod, CALLS, inAgent, inForce, running, startVendor, VENDOR, type Vendor } from './agents.ts'
import { AGENTS, install } from './installation.ts'
import { apply, kube, type Ran, run } from './kubectl.ts'
import { kubeTools } from './tools/kube-tools.ts'

const GATEWAY = 'commands'
const POD = 'commanded'
const PLUGIN = join(import.meta.dirname, '../../controlplane/cli/cluster/kubectl-chaperone.ts')
let vendor: Vendor

beforeAll(async () => {
  await install(inject('installation'))
  process.env['KUBECTL'] = (await kubeTools())?.kubectl
  vendor = await startVendor(GATEWAY)
  await apply(agentPod(POD, GATEWAY))
  await running(POD)
  await inForce(GATEWAY)
}, 300_000)
afterAll(async () => {
  await kube(['delete', 'pod', POD, '-n', AGENTS, '--wait=false', '--ignore-not-found'])
  await vendor?.[Symbol.asyncDispose]()
})

/** `kubectl chaperone ARGS`, as kubectl starts it. */
async function chaperone(...args: readonly string[]): Promise<Ran> {
  const ran = await run(process.execPath, [PLUGIN, ...args], '')
  console.log(`$ kubectl chaperone ${args.join(' ')}\n${ran.stdout}${ran.stderr}`)
  return ran
}

test('status says what runs, and every Gateway', async () => {
  const row = new RegExp(`${AGENTS} +${GATEWAY} +full_enforce +transparent +1 `)
  // The operator delays the writes of counts.
  const stdout = await eventually(
    'the Gateway counts its pod',
    async () => {
      const ran = await chaperone('status')
      return row.test(ran.stdout) ? ran.stdout : null
    },
    30_000,
  )
  expect(stdout).toMatch(/^control plane {2}healthy at https:\/\/localhost:\d+/m)
  expect(stdout).toMatch(/kill switch {4}not active/)
})

test('doctor reports the Gateway and layer of a governed pod, and which of its clients fail', async () => {
  const { code, stdout } = await chaperone('doctor', POD, '-n', AGENTS)
  expect(code).toBe(0)
  expect(stdout).toContain(`governed: by Gateway ${AGENTS}/${GATEWAY}`)
  expect(stdout).toMatch(/layer: Captured/)
  expect(stdout).toMatch(/rules: set/)
  expect(stdout).toMatch(/sidecar: ready/)
  expect(stdout).toMatch(/agent: stripe: .*\n.*ca_bundle_path/)
  expect(stdout).not.toContain('outdated')
})

test('doctor reports an ungoverned pod and a missing pod', async () => {
  await apply({ ...agentPod('free', GATEWAY), metadata: { name: 'free', namespace: AGENTS } })
  await running('free')
  expect((await chaperone('doctor', 'free', '-n', AGENTS)).stdout).toMatch(/warning {2}governed: no/)
  const missing = await chaperone('doctor', 'nobody', '-n', AGENTS)
  expect(missing.code).toBe(1)
  expect(missing.stderr).toContain('There is no pod nobody')
  await kube(['delete', 'pod', 'free', '-n', AGENTS, '--wait=false'])
})

test('inject prints the same pod as the webhook creates, or the conflicting fields', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-inject-'))
  const file = join(folder, 'pod.yaml')
  const gateway = ['--gateway', `${AGENTS}/${GATEWAY}`, '-n', AGENTS]
  writeFileSync(file, JSON.stringify(agentPod('printed', GATEWAY)))
  const { code, stdout } = await chaperone('inject', '-f', file, ...gateway)
  expect(code).toBe(0)
  type Pod = { readonly spec: { readonly initContainers: ReadonlyArray<{ readonly name: string }> } }
  const printed = parse(stdout) as Pod
  const stored = JSON.parse(await kube(['create', '--dry-run=server', '-o', 'json', '-f', file])) as Pod
  const names = ({ spec }: Pod) => spec.initContainers.map(({ name }) => name)
  expect(names(printed)).toEqual(names(stored))
  writeFileSync(file, JSON.stringify(agentPod('printed', GATEWAY, { spec: { hostNetwork: true } })))
  const refused = await chaperone('inject', '-f', file, ...gateway)
  expect(refused.code).toBe(1)
  expect(`${refused.stdout}${refused.stderr}`).toContain('spec.hostNetwork')
  rmSync(folder, { recursive: true })
})

test('explain says why, before anything is sent', async () => {
  const before = vendor.recorder.seen.length
  const { stdout } = await chaperone(
    'explain',
    'DELETE',
    `https://${VENDOR}/things`,
    '--agent',
    `${AGENTS}/${POD}`,
  )
  expect(stdout).toContain('generic.delete')
  expect(stdout).toMatch(/deny|denied/i)
  expect(vendor.recorder.seen.length).toBe(before)
})

test('kill on stops the agents and says how many, kill off lets them go', async () => {
  const on = await chaperone('kill', 'on', '--reason', 'drill')
  expect(on.stdout).toMatch(/\d+ of \d+ gateways? acknowledged in \d+ ms/)
  expect((await inAgent(POD, CALLS.node('GET'))).stdout).toMatch(/^403 /)
  expect((await chaperone('kill', 'off')).stdout).toContain('No kill switch is active.')
  await eventually('calls pass again', async () =>
    (await inAgent(POD, CALLS.node('GET'))).stdout.startsWith('200') ? true : null,
  )
})

test('approvals shows what waits, and lets it go on', async () => {
  const answered = inAgent(POD, CALLS.node('POST'))
  const id = await eventually(
    'it waits',
    async () => /apv_\w+/.exec((await chaperone('approvals', 'ls')).stdout)?.[0] ?? null,
    30_000,
  )
  expect((await chaperone('approvals', 'approve', id)).stdout).toContain(`${id} is approved`)
  expect((await answered).stdout).toBe('200 {"ok":true}\n')
})
