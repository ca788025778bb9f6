import { expect, it } from 'vitest'
import { createPodInstance } from '../../../sidecar/control/pod-instance.ts'
import { LIST, start } from './pipeline-world.ts'

const UNBOUND = { pod: 'team/warm-1', pod_uid: 'uid-1', sandbox: 'team/warm-1' }
const CLAIMED = { ...UNBOUND, claim: 'team/alice', claim_uid: 'uid-alice' }

it('records the instance at the arrival of the request, also when a claim adopts it before the response', async () => {
  const world = await start({ permissions: [['codehost.*', 'require_approval']] })
  world.state.instance = UNBOUND
  world.state.onHold = async () => {
    world.state.instance = CLAIMED
    return { kind: 'expired', approvalId: 'apv_1', note: null }
  }
  await world.send(LIST)
  await world.send(LIST)
  expect(world.records.map(({ instance }) => instance)).toEqual([UNBOUND, CLAIMED])
})

it('records no instance outside of a pod', async () => {
  const world = await start({ permissions: [['codehost.*', 'allow']] })
  await world.send(LIST)
  expect(world.records[0]).toBeDefined()
  expect(world.records[0]?.instance).toBeUndefined()
})

it('names no instance in an aggregate record of requests of two instances', async () => {
  const world = await start({ permissions: [['codehost.*', 'deny']] })
  world.state.instance = UNBOUND
  for (let times = 0; times < 70; times++) await world.send(LIST)
  const [row] = [...world.grown.values()]
  expect(row?.instance).toEqual(UNBOUND)
  world.state.instance = CLAIMED
  await world.send(LIST)
  expect([...world.grown.values()].at(-1)?.instance).toBeNull()
})

it('is that of the own pod only', () => {
  const own = createPodInstance({ pod: { name: 'warm-1', namespace: 'team', uid: 'uid-1' } })
  expect(own.current()).toEqual({ pod: 'team/warm-1', pod_uid: 'uid-1' })
  own.set(CLAIMED)
  own.set({ pod: 'team/other', pod_uid: 'uid-2' })
  expect(own.current()).toEqual(CLAIMED)
  const none = createPodInstance(null)
  none.set(CLAIMED)
  expect(none.current()).toBeNull()
})
