import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { agentPod, inForce, running, startVendor, type Vendor } from './agents.ts'
import { type ControlPlane, openControlPlane } from './control-plane.ts'
import { AGENTS, install } from './installation.ts'
import { apply, kube, kubectl } from './kubectl.ts'

const GATEWAY = 'identity'
let vendor: Vendor
let controlPlane: ControlPlane

beforeAll(async () => {
  await install(inject('installation'))
  vendor = await startVendor(GATEWAY)
  controlPlane = await openControlPlane()
})
afterAll(async () => {
  await controlPlane?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
})

type Gateways = { readonly gateways: ReadonlyArray<{ name: string; live: { processes: number } | null }> }
const processes = async (): Promise<number> => {
  const { gateways } = await controlPlane.call<Gateways>('GET', '/api/dashboard/gateway')
  return gateways.find(({ name }) => name === `${AGENTS}/${GATEWAY}`)?.live?.processes ?? 0
}
test('a pod is let in by its UID, without an Event, and its session ends within 10 s of its deletion', async () => {
  await apply(agentPod('bound', GATEWAY))
  await running('bound')
  await inForce(GATEWAY)
  expect(await processes()).toBe(1)
  const refused = ['get', 'events', '-n', AGENTS, '--field-selector=reason=SidecarRefused', '-o', 'name']
  expect(await kube(refused)).not.toContain('bound')
  await kube(['delete', 'pod', 'bound', '-n', AGENTS, '--wait=true', '--grace-period=1'])
  await eventually('the session ended', async () => (await processes()) === 0 || null, 10_000)
})

test('the control plane may not read pods', async () => {
  const user = 'system:serviceaccount:chaperone-system:chaperone-control-plane'
  for (const verb of ['get', 'list', 'watch', 'patch', 'delete']) {
    const { stdout } = await kubectl(['auth', 'can-i', verb, 'pods', '-A', '--as', user])
    expect(stdout.trim(), verb).toBe('no')
  }
})
