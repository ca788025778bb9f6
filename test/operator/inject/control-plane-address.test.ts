import { expect, test } from 'vitest'
import { resolveControlPlane } from '../../../operator/inject/control-plane-address.ts'
import { eventually } from '../../support/eventually.ts'

const KNOWN = [{ address: '10.96.7.7' }]
const FOUND = [{ address: '10.96.7.8' }]
const QUICK = { retryMs: 1, refreshMs: 1 }

test('the operator resolves the one address of a Service, again until DNS answers', async () => {
  let calls = 0
  const find = async () => {
    calls += 1
    if (calls === 1) throw new Error('EAI_AGAIN')
    return KNOWN
  }
  const address = resolveControlPlane('https://chaperone-control-plane.chaperone-system.svc:443', find, QUICK)
  expect(address.current()).toBeNull()
  await eventually('the address', () => address.current())
  expect(address.current()).toBe('10.96.7.7')
  for (const [url, found] of [
    ['https://control-plane.example', KNOWN],
    ['https://peers.chaperone-system.svc', [...KNOWN, ...FOUND]],
  ] as const) {
    const none = resolveControlPlane(url, async () => found, QUICK)
    await new Promise((resolve) => setImmediate(resolve))
    expect(none.current()).toBeNull()
  }
})

test('the operator follows the address of a Service that was created again, and keeps it while DNS does not answer', async () => {
  let calls = 0
  let found: () => typeof KNOWN = () => KNOWN
  const find = async () => {
    calls += 1
    return found()
  }
  const address = resolveControlPlane('https://chaperone-control-plane.chaperone-system.svc', find, QUICK)
  const answered = (current: string) =>
    eventually(`the address ${current}`, () => (address.current() === current ? true : null))
  await answered('10.96.7.7')
  found = () => FOUND
  await answered('10.96.7.8')
  found = () => {
    throw new Error('EAI_AGAIN')
  }
  const before = calls
  await eventually('it is asked again', () => (calls > before + 2 ? true : null))
  expect(address.current()).toBe('10.96.7.8')
  address.stop()
  const last = calls
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(calls - last).toBeLessThanOrEqual(1)
})
