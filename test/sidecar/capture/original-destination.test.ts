import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createDestinations } from '../../../core/capture/destinations.ts'
import { createOriginalDestination } from '../../../sidecar/listener/captured/original-destination.ts'

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

const destinationOf = (client: ReturnType<typeof from>, files: readonly string[]) =>
  createOriginalDestination(files)(client)
const from = (remoteAddress: string) => ({ remoteAddress, remotePort: 40_000, localPort: 15_001 })

describe('the original destination of a redirected connection', () => {
  test('is read from the socket of its client', async () => {
    const files = tables([OURS, CLIENT], [])
    expect(await destinationOf(from('10.1.2.3'), files)).toEqual({ address: '198.18.0.1', port: 22 })
  })

  test('is the same for IPv4 on an IPv6 socket, in either of its spellings', async () => {
    const files = tables([OURS], [MAPPED])
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3'])
      expect(await destinationOf(from(address), files)).toEqual({ address: '198.18.0.1', port: 22 })
  })

  test('is read for IPv6', async () => {
    expect(await destinationOf(from('fd99::2'), tables([], [V6]))).toEqual({
      address: '100::1',
      port: 5_432,
    })
  })

  test('is unknown for another address, a disconnected client, or an ambiguous match', async () => {
    expect(await destinationOf(from('10.1.2.4'), tables([CLIENT], []))).toBeNull()
    expect(await destinationOf(from('10.1.2.3'), tables([OURS], []))).toBeNull()
    expect(await destinationOf(from('10.1.2.3'), tables([CLIENT], [MAPPED]))).toBeNull()
  })

  test('is that of the open connection when an ended one had the same port, and else that of the ended one', async () => {
    const ended = CLIENT.replace('0016 01', '0017 06')
    for (const lines of [
      [CLIENT, ended],
      [ended, CLIENT],
    ])
      expect(await destinationOf(from('10.1.2.3'), tables(lines, []))).toMatchObject({ port: 22 })
    expect(await destinationOf(from('10.1.2.3'), tables([ended], []))).toMatchObject({ port: 23 })
  })

  test('is unknown for a direct connection to the listener', async () => {
    const direct = '   0: 0100007F:9C40 0100007F:3A99 01 0 0 0 1000 0 1'
    expect(await destinationOf(from('127.0.0.1'), tables([direct], []))).toBeNull()
  })

  test('is resolved for a thousand concurrent connections with two reads of the socket table', async () => {
    const lines = Array.from({ length: 1_000 }, (_, n) =>
      CLIENT.replace('9C40', hex(20_000 + n)).replace('0016', hex(n + 1)),
    )
    let readings = 0
    const destinations = createDestinations(async () => {
      readings++
      await new Promise((resolve) => setImmediate(resolve))
      return [[HEAD, ...lines, ''].join('\n')]
    })
    const ask = (n: number) => destinations({ address: '10.1.2.3', port: 20_000 + n, acceptedOn: 15_001 })
    const found = await Promise.all(lines.map((_, n) => ask(n)))
    expect(found.map((destination) => destination?.port)).toEqual(lines.map((_, n) => n + 1))
    expect(readings).toBe(2)
  })

  test('is an error only for connections that were resolved while the table could not be read', async () => {
    let isBroken = true
    const destinations = createDestinations(async () => {
      if (isBroken) throw new Error('EMFILE')
      return [[HEAD, CLIENT, ''].join('\n')]
    })
    const ask = () => destinations({ address: '10.1.2.3', port: 40_000, acceptedOn: 15_001 })
    await expect(ask()).rejects.toThrow('EMFILE')
    isBroken = false
    expect(await ask()).toEqual({ address: '198.18.0.1', port: 22 })
  })
})

const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0')
