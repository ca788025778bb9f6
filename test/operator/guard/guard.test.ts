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
    monotonicMs: () => 0,
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
