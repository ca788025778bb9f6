import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { agentPod, CALLS, inAgent, inForce, running, startVendor, type Vendor } from './agents.ts'
import { admit } from './api-server.ts'
import { expectGoverned } from './governed.ts'
import { AGENTS, install } from './installation.ts'
import { apply, get, kube, kubectl, refusalOf } from './kubectl.ts'

const GATEWAY = 'guard'
const POD = 'guarded'
let vendor: Vendor

beforeAll(async () => {
  await install(inject('installation'))
  vendor = await startVendor(GATEWAY)
  await apply(agentPod(POD, GATEWAY))
  await running(POD)
  await inForce(GATEWAY)
})
afterAll(async () => {
  await kube(['delete', 'pod', POD, '-n', AGENTS, '--wait=false', '--ignore-not-found'])
  await vendor?.[Symbol.asyncDispose]()
})

test('deleted objects of the guard are back within 5 s, with an Event, and nothing is admitted ungoverned later', async () => {
  const objects = [
    ['mutatingwebhookconfiguration', 'chaperone-injector'],
    ['validatingadmissionpolicy', 'chaperone-pods'],
    ['validatingadmissionpolicybinding', 'chaperone-pods'],
    ['configmap', 'chaperone-control-plane-ca', AGENTS],
  ] as const
  type Stored = { readonly metadata: { readonly uid: string; readonly creationTimestamp: string } }
  const stored = () => Promise.all(objects.map(([kind, name, place]) => get<Stored>(kind, name, place)))
  const before = await stored()
  const admissions = watchAdmissions()
  const deletedAt = Date.now()
  await kube(['delete', '--wait=false', ...objects.slice(0, 3).map(([kind, name]) => `${kind}/${name}`)])
  await kube(['delete', '--wait=false', 'configmap/chaperone-control-plane-ca', '-n', AGENTS])
  const deletedBy = Date.now()
  const now = await eventually('the guard is back', async () => {
    const found = await stored()
    const isNew = found.every((one, at) => one !== null && one.metadata.uid !== before[at]?.metadata.uid)
    return isNew ? found : null
  })
  // By the clock of the API server, in whole seconds: kubectl takes its own time.
  for (const one of now) {
    const createdAt = Date.parse(one?.metadata.creationTimestamp ?? '')
    expect(createdAt).toBeGreaterThanOrEqual(deletedAt - 1_000)
    expect(createdAt).toBeLessThan(deletedBy + 5_000)
  }
  await eventually('a governed pod is injected again', async () => {
    const pod = JSON.stringify(agentPod('again', GATEWAY))
    const { stdout } = await kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], pod)
    return stdout.includes('chaperone-proxy') ? true : null
  })
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, deletedBy + WATCHED_MS - Date.now())))
  const { count, ungoverned } = await admissions.end()
  // An admission began at most 5 s after the deletion.
  const last = Math.max(0, ...ungoverned.map((at) => at - deletedBy))
  console.log(
    `${ungoverned.length} of ${count} dry runs were admitted ungoverned, the last ${last} ms after the deletion`,
  )
  expect(last).toBeLessThan(5_000)
  const named = ['get', 'events', '-A', '--field-selector=reason=GuardDeleted', '-o']
  const kinds = '{range .items[*]}{.involvedObject.kind}{"\\n"}{end}'
  const wanted = ['ConfigMap', 'MutatingWebhookConfiguration', 'ValidatingAdmissionPolicy']
  await eventually('an Event each', async () => {
    const about = (await kube([...named, `jsonpath=${kinds}`])).split('\n')
    return [...wanted, 'ValidatingAdmissionPolicyBinding'].every((kind) => about.includes(kind)) ? true : null
  })
})

test('with every operator gone no annotated pod starts at all, nor without the webhook’s configuration', async () => {
  const operators = ['deployment/chaperone-operator', '-n', 'chaperone-system']
  await kube(['scale', ...operators, '--replicas=0'])
  const pods = ['-l', 'app.kubernetes.io/component=operator', '-n', 'chaperone-system']
  await kube(['wait', 'pod', ...pods, '--for=delete', '--timeout=60s'])
  try {
    expect(await refusalOf(agentPod('orphan', GATEWAY))).toContain('chaperone-webhook')
    expect(
      await refusalOf({ ...agentPod('free', GATEWAY), metadata: { name: 'free', namespace: AGENTS } }),
    ).toBeNull()
    expect((await inAgent(POD, CALLS.node('GET'))).stdout).toMatch(/^200/)
    // A running operator restores the configuration at once.
    await kube(['delete', 'mutatingwebhookconfiguration', 'chaperone-injector'])
    const refusal = await eventually('the API server has noticed', async () => {
      const said = await refusalOf(agentPod('slipped', GATEWAY))
      if (said === null) await kube(['delete', 'pod', 'slipped', '-n', AGENTS, '--now'])
      return said?.includes('chaperone-webhook') === true ? null : said
    })
    expect(refusal).toMatch(/ValidatingAdmissionPolicy 'chaperone-pods'/)
  } finally {
    await kube(['scale', ...operators, '--replicas=2'])
    await kube(['rollout', 'status', ...operators, '--timeout=90s'])
    await kube(['delete', 'pod', 'free', '-n', AGENTS, '--ignore-not-found', '--wait=false'])
  }
  await eventually(
    'pods are governed again',
    async () => ((await refusalOf(agentPod('again', GATEWAY))) === null ? true : null),
    30_000,
  )
  await expectGoverned(agentPod('again', GATEWAY))
})

/** Time in milliseconds after the deletion in which pods are admitted by dry run. */
const WATCHED_MS = 8_000

type Admissions = { readonly count: number; readonly ungoverned: readonly number[] }

/** Admits an annotated pod by dry run every 100 ms, and notes when a dry run began that got no sidecar. */
function watchAdmissions(): { end(): Promise<Admissions> } {
  const { metadata, spec } = agentPod('slipped', GATEWAY)
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec }
  const ungoverned: number[] = []
  const pending: Promise<void>[] = []
  const once = async (): Promise<void> => {
    const at = Date.now()
    const result = await admit(pod, AGENTS)
    if ('pod' in result && !JSON.stringify(result.pod).includes('chaperone-proxy')) ungoverned.push(at)
  }
  const timer = setInterval(() => pending.push(once()), 100)
  return {
    async end() {
      clearInterval(timer)
      await Promise.all(pending)
      return { count: pending.length, ungoverned }
    },
  }
}
