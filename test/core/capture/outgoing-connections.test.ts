import { expect, test } from 'vitest'
import { outgoingConnections } from '../../../core/capture/socket-table.ts'

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
const row = (local: string, remote: string, state: string, inode = '41') =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0000000089 100 0 0 10 0\n`
const V6 = '0000000000000000FFFF0000020200C0'

test.each([
  ['established', row('020200C0:9C40', '07710BCB:01BB', '01'), [{ address: '203.11.113.7', port: 443 }]],
  ['being opened', row('020200C0:9C40', '07710BCB:01BB', '02'), [{ address: '203.11.113.7', port: 443 }]],
  [
    'IPv4 on an IPv6 socket',
    row(`${V6}:9C40`, '0000000000000000FFFF000007710BCB:1538', '01'),
    [{ address: '203.11.113.7', port: 5432 }],
  ],
  ['loopback', row('0100007F:9C40', '0100007F:01BB', '01'), []],
  ['another address of loopback', row('0200007F:9C40', '0900007F:01BB', '01'), []],
  ['IPv6 loopback', row(`${'0'.repeat(24)}01000000:9C40`, `${'0'.repeat(24)}01000000:01BB`, '01'), []],
  ['ended, waiting', row('020200C0:9C40', '07710BCB:01BB', '06', '0'), []],
  ['a listener', row('00000000:1F90', '00000000:0000', '0A'), []],
  [
    'opened from outside',
    row('00000000:1F90', '00000000:0000', '0A') + row('020200C0:1F90', '07710BCB:D431', '01'),
    [],
  ],
  ['no row', 'nonsense\n', []],
])('%s', (_what, rows, expected) => {
  const found = outgoingConnections([HEAD, HEAD + rows])
  expect(found).toEqual(expected.map((destination) => ({ ...destination, inode: '41' })))
})

test('a listener in one table marks connections from outside in the other', () => {
  const tables = [
    HEAD + row('020200C0:1F90', '07710BCB:D431', '01'),
    HEAD + row(`${'0'.repeat(32)}:1F90`, `${'0'.repeat(32)}:0000`, '0A'),
  ]
  expect(outgoingConnections(tables)).toEqual([])
})
