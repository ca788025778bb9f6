import { describe, expect, test } from 'vitest'
import { listenDropsIn } from '../../../core/capture/listen-drops.ts'
import { hasArrived } from '../../../core/capture/socket-table.ts'

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
/** From port 45000 (AFC8) of 10.0.0.2 to port 15443 (3C53) of `local`. */
const line = (local: string, state: string) =>
  `   0: ${local}:3C53 0200000A:AFC8 ${state} 00000000:00000000 00:00000000 00000000     0        0 0 1\n`
const LOOPBACK = '0100007F'

describe('a connection has arrived', () => {
  test.each([
    ['established', '01'],
    ['before a listener whose queue is full', '03'],
    ['ended by its client', '08'],
  ])('when it is %s', (_what, state) => {
    const found = hasArrived([HEAD + line(LOOPBACK, state)], { from: 45_000, acceptedOn: 15_443 })
    expect(found).toBe(true)
  })

  test.each([
    ['on another address', line('0101A8C0', '01')],
    ['only on its way out', line(LOOPBACK, '02')],
    ['forgotten by both', line(LOOPBACK, '06')],
    ['not there', ''],
  ])('not when it is %s', (_what, text) => {
    expect(hasArrived([HEAD + text], { from: 45_000, acceptedOn: 15_443 })).toBe(false)
  })
})

test('dropped SYN packets of listeners are counted under their name', () => {
  const text =
    'TcpExt: SyncookiesSent ListenOverflows ListenDrops Other\nTcpExt: 1 7 9 3\nIpExt: A\nIpExt: 5\n'
  expect([listenDropsIn(text), listenDropsIn('IpExt: A\nIpExt: 5\n'), listenDropsIn('')]).toEqual([9, 0, 0])
})
