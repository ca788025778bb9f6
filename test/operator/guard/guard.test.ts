import { expect, test } from 'vitest'
import { ChaperoneError } from '../../../core/errors.ts'
import type { KubeCall } from '../../../kube/transport.ts'
import { createGuard } from '../../../operator/guard/guard.ts'
import type { KubeClient } from '../../../operator/kube/client.ts'
import { GUARD_OPTIONS } from '../../support/guard-options.ts'

const NONE = { gateways: [], gvisorRuntimeClasses: [] }

test('an object that is lost while the policies are being written is written once more', async () => {
  const applied: string[] = []
  let onApply: () => void = () => undefined
  const client = {
    async call({ method, path }: KubeCall) {
      if (method === 'GET') throw new ChaperoneError('not_found')
      applied.push(path)
      onApply()
      return {}
    },
  } as unknown as KubeClient
  const guard = createGuard({
    ...{ client, installation: GUARD_OPTIONS, images: { proxy: 'p', rules: 'r' } },
    ...{ controlPlaneAddress: () => null, monotonicMs: () => 0 },
  })
  await guard.reconcile(NONE)
  const once = applied.length
  await guard.reconcile(NONE)
  expect(applied).toHaveLength(once)

  guard.invalidate()
  onApply = () => {
    onApply = () => undefined
    guard.invalidate()
  }
  await guard.reconcile(NONE)
  await guard.reconcile(NONE)
  expect(applied).toHaveLength(3 * once)
  await guard.reconcile(NONE)
  expect(applied).toHaveLength(3 * once)
})

test('replicas that resolved different addresses accept both, and inject one only once it is accepted', async () => {
  let stored: { metadata: { annotations?: object }; spec: unknown } | null = null
  let isDown = true
  const client = {
    async call({ method, path, body }: KubeCall) {
      if (isDown) throw new Error('down')
      if (!path.endsWith('/validatingadmissionpolicies/chaperone-pods')) return {}
      if (method === 'GET' && stored === null) throw new ChaperoneError('not_found')
      if (method === 'PATCH') stored = body as typeof stored
      return { ...stored, metadata: { ...stored?.metadata, resourceVersion: '1' } }
    },
  } as unknown as KubeClient
  const replica = (address: () => string | null) =>
    createGuard({
      ...{ client, installation: GUARD_OPTIONS, images: { proxy: 'p', rules: 'r' } },
      ...{ controlPlaneAddress: address, monotonicMs: () => 0 },
    })
  let latest: string | null = '10.96.7.7'
  const accepts = (address: string) => JSON.stringify(stored?.spec).includes(`'${address}'`)
  const [first, second] = [replica(() => '10.96.7.7'), replica(() => latest)]
  await expect(first.reconcile(NONE)).rejects.toThrow('down')
  expect(first.acceptedAddress()).toBeNull()
  isDown = false
  await first.reconcile(NONE)
  await second.reconcile(NONE)
  expect([first.acceptedAddress(), second.acceptedAddress()]).toEqual(['10.96.7.7', '10.96.7.7'])
  latest = '10.96.7.8'
  expect(second.acceptedAddress()).toBeNull()
  await second.reconcile(NONE)
  expect(second.acceptedAddress()).toBe('10.96.7.8')
  expect([accepts('10.96.7.7'), accepts('10.96.7.8')]).toEqual([true, true])
  first.invalidate()
  await first.reconcile(NONE)
  expect([accepts('10.96.7.7'), accepts('10.96.7.8')]).toEqual([true, true])
  for (const address of ['10.96.7.9', '10.96.7.10']) {
    latest = address
    await second.reconcile(NONE)
  }
  expect([accepts('10.96.7.7'), accepts('10.96.7.8'), accepts('10.96.7.10')]).toEqual([false, true, true])
})

test('search domains are injected only while the policies accept them, beside those of other replicas', async () => {
  let stored: { metadata: { annotations?: object }; spec: unknown } | null = null
  const client = {
    async call({ method, path, body }: KubeCall) {
      if (!path.endsWith('/validatingadmissionpolicies/chaperone-pods')) return {}
      if (method === 'GET' && stored === null) throw new ChaperoneError('not_found')
      if (method === 'PATCH') stored = body as typeof stored
      return { ...stored, metadata: { ...stored?.metadata, resourceVersion: '1' } }
    },
  } as unknown as KubeClient
  const replica = (...searchDomains: string[]) =>
    createGuard({
      client,
      installation: { ...GUARD_OPTIONS, dns: { ...GUARD_OPTIONS.dns, searchDomains } },
      ...{ images: { proxy: 'p', rules: 'r' }, controlPlaneAddress: () => null, monotonicMs: () => 0 },
    })
  const accepts = (domains: string) => JSON.stringify(stored?.spec).includes(`'${domains}'`)
  const [first, second] = [replica('ec2.internal'), replica('corp.example', 'ec2.internal')]
  expect(first.acceptedSearchDomains()).toEqual([])
  await first.reconcile(NONE)
  await second.reconcile(NONE)
  expect(first.acceptedSearchDomains()).toEqual(['ec2.internal'])
  expect(second.acceptedSearchDomains()).toEqual(['corp.example', 'ec2.internal'])
  expect([accepts('ec2.internal'), accepts('corp.example,ec2.internal')]).toEqual([true, true])
  // A replica of an earlier version, whose policy refuses the variable, wrote the policy.
  first.invalidate()
  expect(first.acceptedSearchDomains()).toEqual([])
  await first.reconcile(NONE)
  expect(first.acceptedSearchDomains()).toEqual(['ec2.internal'])
})
