import { beforeAll, expect, inject, test } from 'vitest'
import { agentPod, CALLS, inAgent, inForce, ours, running, startVendor } from './agents.ts'
import { AGENTS, install, SYSTEM, uninstall } from './installation.ts'
import { apply, get, kube, refusalOf } from './kubectl.ts'

const GATEWAY = 'leaving'

beforeAll(() => install(inject('installation')))

test('an uninstalled chart leaves nothing that the API server asks, and every resource of a team', async () => {
  await using vendor = await startVendor(GATEWAY)
  await apply(agentPod('stays', GATEWAY))
  await running('stays')
  await inForce(GATEWAY)
  await uninstall()

  const kinds =
    'mutatingwebhookconfigurations,validatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings,clusterroles,clusterrolebindings'
  const left = (await kube(['get', kinds, '-o', 'name']))
    .split('\n')
    .filter((name) => name.includes('chaperone'))
  expect(left).toEqual([])
  for (const kind of ['cgw', 'ccon', 'cperm']) expect(await get(kind, GATEWAY, AGENTS)).not.toBeNull()

  // A pod that runs stays governed by the rules that it had, and a new one starts like any other.
  expect((await inAgent('stays', CALLS.node('DELETE'))).stdout).toMatch(/^403 /)
  expect(await refusalOf(agentPod('plain', GATEWAY))).toBeNull()
  await kube(['delete', 'pod', 'plain', 'stays', '-n', AGENTS, '--wait=false'])

  // Nobody is left to take finalizers off.
  await kube(['delete', 'cgw', GATEWAY, '-n', AGENTS, '--timeout=10s'])
  await apply(ours('Gateway', 'second', {}))
  await kube(['delete', 'cgw', 'second', '-n', AGENTS, '--timeout=10s'])
  expect(vendor.recorder.seen).toEqual([])
})

test('installed again it finds its keys, and what it governed is governed', async () => {
  const key = () =>
    kube(['get', 'secret', 'chaperone-keys', '-n', SYSTEM, '-o', 'jsonpath={.data.master\\.key}'])
  const before = await key()
  await install(inject('installation'))
  expect(await key()).toBe(before)
  await using _vendor = await startVendor(GATEWAY)
  await apply(agentPod('back', GATEWAY))
  await running('back')
  await inForce(GATEWAY)
  expect((await inAgent('back', CALLS.node('GET'))).stdout).toBe('200 {"ok":true}\n')
})
