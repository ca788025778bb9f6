import { expect, test } from 'vitest'
import { resolveControlPlane } from '../../../operator/inject/control-plane-address.ts'
import { eventually } from '../../support/eventually.ts'

const KNOWN = [{ address: '10.96.7.7' }]
const FOUND = [{ address: '10.96.7.8' }]

test('the operator resolves the one address of a Service, again until DNS answers', async () => {
  let calls = 0
  const find = async () => {
    calls += 1
    if (calls === 1) throw new Error('EAI_AGAIN')
    return KNOWN
  }
  const address = resolveControlPlane('https://chaperone-control-plane.chaperone-system.svc:443', find, 1)
  expect(address.current()).toBeNull()
  await eventually('the address', () => address.current())
  expect(address.current()).toBe('10.96.7.7')
  for (const [url, found] of [
    ['https://control-plane.example', KNOWN],
    ['https://peers.chaperone-system.svc', [...KNOWN, ...FOUND]],
  ] as const) {
    const none = resolveControlPlane(url, async () => found, 1)
    await new Promise((resolve) => setImmediate(resolve))
    expect(none.current()).toBeNull()
  }
})
