import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { originalDestination } from '../../../sidecar/listener/original-destination.ts'

const dir = mkdtempSync(join(tmpdir(), 'chaperone-proc-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode'
/** 10.1.2.3:40000 -> 198.18.0.1:22, as the client sees it. */
const CLIENT = '   0: 0302010A:9C40 010012C6:0016 01 00000000:00000000 00:00000000 00000000  1000 0 1'
/** Our own end: 127.0.0.1:15001 -> 10.1.2.3:40000. */
const OURS = '   1: 0100007F:3A99 0302010A:9C40 01 00000000:00000000 00:00000000 00000000  1900 0 2'
/** The same client on an IPv6 socket with a mapped address. */
const MAPPED =
  '   0: 0000000000000000FFFF00000302010A:9C40 0000000000000000FFFF0000010012C6:0016 01 0 0 0 1000 0 1'
/** [fd99::2]:40000 -> [100::1]:5432. */
const V6 =
  '   0: 000099FD000000000000000002000000:9C40 00000001000000000000000001000000:1538 01 0 0 0 1000 0 1'

function tables(...contents: readonly string[][]): string[] {
  return contents.map((lines, index) => {
    const file = join(dir, `${Math.random()}-${index}`)
    writeFileSync(file, [HEAD, ...lines, ''].join('\n'))
    return file
  })
}

const from = (remoteAddress: string) => ({ remoteAddress, remotePort: 40_000, localPort: 15_001 })

describe('where a redirected connection was meant to go', () => {
  test('is read from the socket of its client', async () => {
    const files = tables([OURS, CLIENT], [])
    expect(await originalDestination(from('10.1.2.3'), files)).toEqual({ address: '198.18.0.1', port: 22 })
  })

  test('is the same for IPv4 on an IPv6 socket, in either of its spellings', async () => {
    const files = tables([OURS], [MAPPED])
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3'])
      expect(await originalDestination(from(address), files)).toEqual({ address: '198.18.0.1', port: 22 })
  })

  test('is read for IPv6', async () => {
    expect(await originalDestination(from('fd99::2'), tables([], [V6]))).toEqual({
      address: '100::1',
      port: 5_432,
    })
  })

  test('is not known for another address, a client that is gone, or one that fits twice', async () => {
    expect(await originalDestination(from('10.1.2.4'), tables([CLIENT], []))).toBeNull()
    expect(await originalDestination(from('10.1.2.3'), tables([OURS], []))).toBeNull()
    expect(await originalDestination(from('10.1.2.3'), tables([CLIENT], [MAPPED]))).toBeNull()
  })

  test('is not known for somebody who calls the listener itself', async () => {
    const direct = '   0: 0100007F:9C40 0100007F:3A99 01 0 0 0 1000 0 1'
    expect(await originalDestination(from('127.0.0.1'), tables([direct], []))).toBeNull()
  })
})
