import { describe, expect, it } from 'vitest'
import { refusedAddress } from '../../../sidecar/upstream/address.ts'

const REFUSED = [
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '169.254.1.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:93.184.216.34',
  '64:ff9b::7f00:1',
  '64:ff9b:1::1',
  '2001:0:4136:e378::1',
  '2002:7f00:1::1',
  'fc00::1',
  'fd12::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '',
  'localhost',
  '2130706433',
  '0x7f.1',
  '127.1',
]

describe('address guard', () => {
  it.each(REFUSED)('refuses %s', (address) => {
    expect(refusedAddress(address, false)).toEqual(expect.any(String))
  })

  it.each([
    '93.184.216.34',
    '172.15.255.255',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700::1111',
    '2001:4860:4860::8888',
  ])('lets the public address %s through', (address) => {
    expect(refusedAddress(address, false)).toBeNull()
  })

  it.each(['127.0.0.1', '10.1.2.3', '192.168.1.1', '::1', 'fd12::1'])(
    'lets %s through when the connector allows private addresses',
    (address) => {
      expect(refusedAddress(address, true)).toBeNull()
    },
  )

  it.each([
    '169.254.169.254',
    'fd00:ec2::254',
    '0.0.0.0',
    '::',
    '224.0.0.1',
    'ff02::1',
    '255.255.255.255',
    'localhost',
  ])('refuses %s even then', (address) => {
    expect(refusedAddress(address, true)).toEqual(expect.any(String))
  })
})
