import { expect, test } from 'vitest'

import { withKnownAddress } from '../../../sidecar/control/client/known-address.ts'

const KNOWN = [{ address: '10.96.7.7', family: 4 }]
const FOUND = [{ address: '10.96.7.8', family: 4 }]

test('DNS comes before the known address, which is used where DNS fails or does not answer', async () => {
  let now = 0
  let answer: () => Promise<typeof FOUND> = async () => FOUND
  let asked = 0
  const resolve = withKnownAddress(
    () => {
      asked += 1
      return answer()
    },
    '10.96.7.7',
    () => now,
  )
  expect(await resolve('control-plane.svc')).toEqual(FOUND)
  answer = async () => {
    throw new Error('EAI_AGAIN')
  }
  expect(await resolve('control-plane.svc')).toEqual(KNOWN)
  now = 29_000
  expect(await resolve('control-plane.svc')).toEqual(KNOWN)
  expect(asked).toBe(2)
  now = 31_000
  answer = () => new Promise(() => undefined)
  expect(await resolve('control-plane.svc')).toEqual(KNOWN)
  now = 62_000
  answer = async () => FOUND
  expect(await resolve('control-plane.svc')).toEqual(FOUND)
})
