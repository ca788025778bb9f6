import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { runCli } from '../../../../controlplane/cli/cli.ts'

let cwd: string
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'inject-'))
})
afterAll(() => rm(cwd, { recursive: true }))

async function inject(manifests: string, ...args: string[]) {
  await writeFile(join(cwd, 'pod.yaml'), manifests)
  const [out, err]: [string[], string[]] = [[], []]
  const terminal = {
    print: (line: string) => void out.push(line),
    warn: (line: string) => void err.push(line),
    isInteractive: false,
  }
  const code = await runCli(['inject', '-f', 'pod.yaml', ...args], { env: {}, cwd, terminal })
  const pods = parseAllDocuments(out.join('\n')).map((document) => document.toJS() as Pod)
  return { code, text: out.join('\n'), warnings: err.join('\n'), pods }
}
type Pod = {
  metadata: { annotations: Record<string, string>; namespace?: string }
  spec: { initContainers: { name: string; image: string; command?: string[] }[] }
}

const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: triage, namespace: team }
spec:
  template:
    metadata: { creationTimestamp: null, labels: { app: triage } }
    spec: { containers: [{ name: agent, image: node:24 }] }
`
const CRON = `
apiVersion: batch/v1
kind: CronJob
metadata: { name: nightly, namespace: team }
spec: { jobTemplate: { spec: { template: { spec: { containers: [{ name: a, image: alpine }] } } } } }
`
const POD = `
apiVersion: v1
kind: Pod
metadata: { name: solo, namespace: team, annotations: { chaperone.dev/gateway: main } }
spec: { containers: [{ name: agent, image: node:24 }] }
`
const GATEWAY = `
apiVersion: chaperone.dev/v1alpha1
kind: Gateway
metadata: { name: main, namespace: team }
spec: { interception: proxyEnv }
`

it('prints the pods of workloads with the sidecar first, as agents with the name of the workload', async () => {
  const { code, pods } = await inject(
    `${DEPLOYMENT}---${CRON}`,
    '--gateway',
    'team/main',
    '--image',
    'ours:9',
  )
  expect(code).toBe(0)
  expect(pods.map(({ metadata }) => metadata.annotations['chaperone.dev/agent'])).toEqual([
    'triage',
    'nightly',
  ])
  for (const { spec } of pods) {
    expect(spec.initContainers.map(({ name, image }) => `${name} ${image}`)).toEqual([
      'chaperone-rules ours:9',
      'chaperone-proxy ours:9',
    ])
  }
})

it('is idempotent for its own output', async () => {
  const once = await inject(DEPLOYMENT, '--gateway', 'team/main')
  const twice = await inject(once.text, '--gateway', 'team/main')
  expect(twice.text).toBe(once.text)
})

it('reads the Gateway from the same file or from another file', async () => {
  const same = await inject(`${POD}---${GATEWAY}`)
  expect(same.pods[0]?.spec.initContainers.map(({ name }) => name)).toEqual(['chaperone-proxy'])
  await writeFile(join(cwd, 'gateway.yaml'), GATEWAY)
  const own = await inject(DEPLOYMENT, '-n', 'team', '--gateway', 'gateway.yaml')
  expect(own.pods[0]?.spec.initContainers.map(({ name }) => name)).toEqual(['chaperone-proxy'])
})

it('prints every conflicting field, and no pod', async () => {
  const bad = POD.replace('spec: {', 'spec: { hostNetwork: true, shareProcessNamespace: true,')
  const { code, text, warnings } = await inject(`${bad}---${GATEWAY}`)
  expect(code).toBe(1)
  expect(text).toBe('')
  expect(warnings).toMatch(
    /solo cannot be governed: spec\.hostNetwork: .*; remove the field or set it to false/,
  )
  expect(warnings).toContain('spec.shareProcessNamespace')
})

it('reports that the handler of a RuntimeClass is unknown, or takes it as an option', async () => {
  const sandboxed = POD.replace('spec: {', 'spec: { runtimeClassName: sandboxed,')
  const unknown = await inject(sandboxed, '--gateway', 'team/main')
  expect(unknown.warnings).toMatch(/solo: spec\.runtimeClassName sandboxed: .*--runtime-handler/)
  expect(unknown.pods[0]?.spec.initContainers[0]?.command?.[0]).toContain('nft')
  const known = await inject(sandboxed, '--gateway', 'team/main', '--runtime-handler', 'runsc')
  expect(known.warnings).toBe('')
  expect(known.pods[0]?.spec.initContainers[0]?.command).toContain('/etc/chaperone/iptables.sh')
  const auto = GATEWAY.replace('proxyEnv', 'auto')
  const refused = await inject(`${sandboxed}---${auto}`, '--runtime-handler', 'runsc')
  expect([refused.code, refused.warnings]).toEqual([1, expect.stringContaining('autoAllows')])
})

it('reports a pod without a Gateway as not governed, unless its namespace requires it', async () => {
  const free = await inject(DEPLOYMENT)
  expect(free.code).toBe(0)
  expect(free.warnings).toContain('is not governed: it has no annotation')
  const required = await inject(`${DEPLOYMENT}---${GATEWAY}`, '--required')
  expect(required.pods[0]?.metadata.annotations['chaperone.dev/gateway']).toBe('team/main')
  const nobody = await inject(DEPLOYMENT, '--required')
  expect([nobody.code, nobody.warnings]).toEqual([1, expect.stringContaining('has no Gateway')])
})

it.each([
  ['no Gateway of that name', POD, [], 1, 'is not a Gateway in namespace team'],
  ['a file without pods', GATEWAY, [], 1, 'no pod and no workload'],
  [
    'a pod that is none',
    'apiVersion: v1\nkind: Pod\nmetadata: { name: x }\nspec: { containers: 3 }',
    [],
    1,
    'pod.yaml: spec.containers',
  ],
  ['YAML that is none', 'a: [', [], 1, 'pod.yaml: not valid YAML'],
  [
    'a Gateway that cannot be',
    POD,
    ['--gateway', 'No Such/File.yaml'],
    2,
    'neither an existing file nor the name',
  ],
])('reports the error: %s', async (_, manifests, args, code, words) => {
  const result = await inject(manifests, ...args)
  expect([result.code, result.warnings]).toEqual([code, expect.stringContaining(words)])
})
