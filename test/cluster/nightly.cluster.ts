import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { IS_FULL } from '../support/proof.ts'
import { CALLS, inAgent, inForce, podTemplate, startVendor, VENDOR, type Vendor } from './agents.ts'
import { AGENTS, install } from './installation.ts'
import { apply, kube } from './kubectl.ts'
import { type NodeAccess, openNode } from './node-access.ts'
import { SIZES } from './sizes.ts'

const GATEWAY = 'nightly'
const FOREIGN = 'chaperone-test-foreign'
let vendor: Vendor
let node: NodeAccess

describe.runIf(IS_FULL)('at full size', () => {
  beforeAll(async () => {
    await install(inject('installation'))
    vendor = await startVendor(GATEWAY, {
      rateLimit: { requestsPerMinute: 100_000 },
      agents: { startOnlyWithRules: true },
    })
    node = await openNode('nightly')
  }, 300_000)
  afterAll(async () => {
    await kube([
      'delete',
      'deployment,job',
      '-n',
      AGENTS,
      '-l',
      'nightly=yes',
      '--ignore-not-found',
      '--timeout=120s',
    ])
    await node?.[Symbol.asyncDispose]()
    await vendor?.[Symbol.asyncDispose]()
  }, 200_000)

  test(`${SIZES.starved} sidecars start while the only control plane has 0.2 CPU, and no client is answered 503`, async () => {
    const { values } = inject('installation')
    await install({
      values: [
        ...values,
        '--set',
        'controlPlane.replicas=1,controlPlane.resources.limits.cpu=200m,controlPlane.resources.requests.cpu=100m',
      ],
    })
    const ask = `fetch('https://${VENDOR}/starved').then((r) => process.exit(r.status === 200 ? 0 : 1), () => process.exit(1))`
    const template = podTemplate(GATEWAY, { command: ['node', '-e', ask], spec: { restartPolicy: 'Never' } })
    try {
      await apply({
        ...{ apiVersion: 'batch/v1', kind: 'Job' },
        metadata: { name: 'starved', namespace: AGENTS, labels: { nightly: 'yes' } },
        spec: { completions: SIZES.starved, parallelism: SIZES.starved, backoffLimit: 0, template },
      })
      await kube(['wait', 'job/starved', '-n', AGENTS, '--for=condition=Complete', '--timeout=900s'])
    } finally {
      await install({ values })
    }
    expect(vendor.recorder.seen.filter(({ target }) => target === '/starved')).toHaveLength(SIZES.starved)
  }, 1_500_000)

  test(`${SIZES.foreignPods} pods of others cost an operator at most 10 MiB`, async () => {
    const before = await node.operatorMemoryMib()
    await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: FOREIGN } })
    try {
      for (let at = 0; at < SIZES.foreignPods; at += BATCH) {
        await apply(
          ...Array.from({ length: Math.min(BATCH, SIZES.foreignPods - at) }, (_, place) =>
            foreignPod(at + place),
          ),
        )
      }
      const after = await eventually(
        'the operators have come to rest',
        async () => {
          const found = await node.operatorMemoryMib()
          return found <= before + 10 ? found : null
        },
        300_000,
      )
      console.log(
        `memory of the larger operator, MiB: ${before}, with ${SIZES.foreignPods} pods of others ${after}`,
      )
    } finally {
      await kube(['delete', 'namespace', FOREIGN, '--timeout=600s'])
    }
  }, 1_800_000)

  test('a drained node ends governed pods in order, and their successors are governed', async () => {
    const labels = { nightly: 'yes', app: 'drained' }
    const template = podTemplate(GATEWAY)
    await apply({
      ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
      metadata: { name: 'drained', namespace: AGENTS, labels },
      spec: {
        ...{ replicas: 3, selector: { matchLabels: labels } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    })
    await kube(['rollout', 'status', 'deployment/drained', '-n', AGENTS, '--timeout=180s'])
    const former = await drainedPods()
    const nodes = [...new Set(former.map((pod) => pod.node))]
    try {
      for (const name of nodes) {
        // The sidecar has volumes of its own.
        const pods = ['--pod-selector=app=drained', '--ignore-daemonsets', '--delete-emptydir-data']
        await kube(['drain', name, ...pods, '--timeout=120s'])
      }
    } finally {
      await kube(['uncordon', ...nodes])
    }
    await kube(['rollout', 'status', 'deployment/drained', '-n', AGENTS, '--timeout=180s'])
    await inForce(GATEWAY)
    const successors = await drainedPods()
    expect(successors.filter(({ name }) => former.some((pod) => pod.name === name))).toEqual([])
    for (const { name } of successors)
      expect((await inAgent(name, CALLS.node('GET'))).stdout).toBe('200 {"ok":true}\n')
  }, 600_000)
})

/** Pods of others that are created by one command. */
const BATCH = 500

/** A pod without a Gateway, which no node takes. */
function foreignPod(at: number) {
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: `foreign-${at}`, namespace: FOREIGN } },
    spec: {
      nodeSelector: { 'chaperone.test/none': 'yes' },
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'other', image: 'other', env: [{ name: 'TEXT', value: 'x'.repeat(500) }] }],
    },
  }
}

type Pods = {
  readonly items: ReadonlyArray<{
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
    readonly spec: { readonly nodeName: string }
  }>
}

async function drainedPods() {
  const { items } = JSON.parse(
    await kube(['get', 'pods', '-n', AGENTS, '-l', 'app=drained', '-o', 'json']),
  ) as Pods
  return items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata, spec }) => ({ name: metadata.name, node: spec.nodeName }))
}
