import { BlockList, isIP } from 'node:net'
import { describe, expect, it } from 'vitest'
import { parseAddress, parseCidr, refusedAddress } from '../../../core/request/address.ts'
import fc from '../../support/fast-check.ts'

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
    expect(refusedAddress(address, false)).not.toBeNull()
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
    expect(refusedAddress(address, true)).not.toBeNull()
  })

  const METADATA = [
    // link-local, and metadata services elsewhere
    ...['169.254.0.1', '169.254.169.253', '169.254.170.2', '169.254.170.23', '169.254.255.255'],
    ...['100.100.100.200', '168.63.129.16', '192.0.0.192', '0.0.0.1', '0.255.255.255', '239.255.255.255'],
    ...[
      'fe80::1',
      'fe80::1%eth0',
      'febf::1',
      'fd00:ec2::254',
      'fd00:ec2::23',
      'fd20:ce::254',
      'fd00:42::42',
      'fd00:c1::a9fe:a9fe',
      'fd00:a9fe:a9fe::1',
      'ff05::2',
    ],
    // the same in IPv6: mapped, translated, compatible
    ...['::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '::FFFF:A9FE:A9FE', '0:0:0:0:0:ffff:a9fe:a9fe'],
    ...['::ffff:0:169.254.169.254', '::169.254.169.254', '::a9fe:a9fe', '::ffff:100.100.100.200'],
    ...['::ffff:0.0.0.0', '::ffff:0:0', '::ffff:224.0.0.1', '::ffff:255.255.255.255', '::ffff:168.63.129.16'],
    // NAT64 with the well-known and with local prefixes, 6to4, Teredo, ISATAP
    ...['64:ff9b::169.254.169.254', '64:ff9b::a9fe:a9fe', '64:ff9b::0.0.0.0', '64:ff9b::6464:64c8'],
    ...['64:ff9b:1::169.254.169.254', '64:ff9b:1:a9fe:a9:fe00::', '64:ff9b:1:12a9:fe:a9fe::'],
    ...[
      '64:ff9b:1:1234:a9:fea9:fe00:0',
      '2002:a9fe:a9fe::',
      '2002:a9fe:a9fe:1::1',
      '2002::1',
      '2002:e000:1::',
    ],
    ...['2001:0:a9fe:a9fe::', '2001:0:808:808:0:0:5601:5601', '2001:db8::5efe:169.254.169.254'],
    ...['fc00::5efe:a9fe:a9fe', 'fd12::200:5efe:169.254.169.254', 'fe80::5efe:10.0.0.1'],
  ]
  it.each(METADATA)('refuses %s with any setting', (address) => {
    const everything = ['0.0.0.0/0', '::/0'].flatMap((text) => parseCidr(text) ?? [])
    for (const allowed of [false, true, everything])
      expect(refusedAddress(address, allowed)).toMatchObject({ isFinal: true })
  })

  it.each([
    ...[
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:10.0.0.1',
      '64:ff9b::10.0.0.1',
      '64:ff9b:1::10.0.0.1',
      '64:ff9b:1::',
    ],
    ...['2002:a00:1::1', '2001:0:808:808:0:0:f5ff:fffe', 'fd12::5efe:10.0.0.1', '100.64.0.1', '240.0.0.1'],
  ])('lets %s through only where private addresses are allowed', (address) => {
    expect(refusedAddress(address, false)).toMatchObject({ isFinal: false })
    expect(refusedAddress(address, true)).toBeNull()
  })

  it('refuses the metadata address in every form that carries an IPv4 address', () => {
    const v4 = fc.constantFrom('169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16')
    const prefix = fc.constantFrom('::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::', '::')
    fc.assert(
      fc.property(prefix, v4, (start, address) => {
        expect(refusedAddress(start + address, true)).toMatchObject({ isFinal: true })
      }),
    )
  })

  const hex = (v4: string) => v4.split('.').map((part) => Number(part).toString(16).padStart(2, '0'))
  const inverted = (v4: string) => v4.split('.').map((part) => 255 - Number(part))
  /** Every form of IPv6 that carries an IPv4 address. */
  const FORMS: Readonly<Record<string, (v4: string) => string>> = {
    mapped: (v4) => `::ffff:${v4}`,
    translated: (v4) => `::ffff:0:${v4}`,
    compatible: (v4) => `::${v4}`,
    'NAT64, well-known': (v4) => `64:ff9b::${v4}`,
    'NAT64, local /96': (v4) => `64:ff9b:1:2:3:4:${v4}`,
    'NAT64, local /64': (v4) => {
      const [a = '', b = '', c = '', d = ''] = hex(v4)
      return `64:ff9b:1:2:00${a}:${b}${c}:${d}00:0`
    },
    'NAT64, local /56': (v4) => {
      const [a = '', b = '', c = '', d = ''] = hex(v4)
      return `64:ff9b:1:02${a}:00${b}:${c}${d}::`
    },
    'NAT64, local /48': (v4) => {
      const [a = '', b = '', c = '', d = ''] = hex(v4)
      return `64:ff9b:1:${a}${b}:00${c}:${d}00::`
    },
    '6to4': (v4) => {
      const [a = '', b = '', c = '', d = ''] = hex(v4)
      return `2002:${a}${b}:${c}${d}::1`
    },
    'Teredo, server': (v4) => {
      const [a = '', b = '', c = '', d = ''] = hex(v4)
      return `2001:0:${a}${b}:${c}${d}:8000:63bf:f7f7:f7f7`
    },
    'Teredo, client': (v4) => `2001:0:808:808:8000:63bf:${inverted(v4).join('.')}`,
    'ISATAP, public network': (v4) => `2606:4700::5efe:${v4}`,
    'ISATAP, unique': (v4) => `2606:4700::200:5efe:${v4}`,
    'ISATAP, local network': (v4) => `fd12::5efe:${v4}`,
  }
  const KINDS: ReadonlyArray<readonly [string, boolean]> = [
    ...['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', '192.0.0.192'].map(
      (v4) => [v4, true] as const,
    ),
    ...['224.0.0.1', '255.255.255.255'].map((v4) => [v4, true] as const),
    ...['127.0.0.1', '127.255.0.9', '10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1', '198.18.0.1'].map(
      (v4) => [v4, false] as const,
    ),
    // A public one, too: what it reaches depends on the network.
    ['93.184.216.34', false],
  ]
  it.each(
    Object.entries(FORMS).flatMap(([form, write]) =>
      KINDS.map(([v4, isFinal]) => [v4, form, write(v4), isFinal] as const),
    ),
  )('reads %s in the form %s (%s)', (_v4, _form, address, isFinal) => {
    expect(parseAddress(address)).toHaveLength(16)
    expect(refusedAddress(address, false)).toMatchObject({ isFinal })
    if (isFinal) expect(refusedAddress(address, true)).toMatchObject({ isFinal: true })
    else expect(refusedAddress(address, true)).toBeNull()
  })

  it.each(['mapped', '6to4', 'NAT64, well-known', 'ISATAP, public network', 'ISATAP, local network'])(
    'lets %s through an allowed range only with an address that is allowed itself',
    (form) => {
      const ranges = (...texts: string[]) => texts.flatMap((text) => parseCidr(text) ?? [])
      const address = FORMS[form]?.('127.0.0.1') ?? ''
      expect(refusedAddress(address, ranges('::/0'))).toMatchObject({ isFinal: false })
      expect(refusedAddress(address, ranges('::/0', '127.0.0.0/8'))).toBeNull()
    },
  )

  it('allows exactly the allowed ranges', () => {
    const allowed = ['127.0.0.0/30', 'fd12::/16'].flatMap((text) => parseCidr(text) ?? [])
    expect(refusedAddress('127.0.0.3', allowed)).toBeNull()
    expect(refusedAddress('fd12:1::1', allowed)).toBeNull()
    for (const address of ['127.0.0.4', '10.0.0.1', 'fd13::1', '::1', '::ffff:127.0.0.1']) {
      expect(refusedAddress(address, allowed)).not.toBeNull()
    }
  })

  it('never allows metadata addresses, with any allowed ranges', () => {
    const everything = ['0.0.0.0/0', '::/0'].flatMap((text) => parseCidr(text) ?? [])
    expect(refusedAddress('10.0.0.1', everything)).toBeNull()
    for (const address of ['169.254.169.254', 'fd00:ec2::254', '0.0.0.0', '::', '224.0.0.1']) {
      expect(refusedAddress(address, everything)).not.toBeNull()
    }
  })

  it.each(['', '10.0.0.0', '10.0.0.0/33', '10.0.0/8', 'fd00::/129', '10.0.0.0/8/8', '10.0.0.0/-1'])(
    'reads no range from "%s"',
    (text) => expect(parseCidr(text)).toBeNull(),
  )

  it('parses exactly the addresses that the platform parses', () => {
    const texts = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.ipV4Extended(),
      fc.stringMatching(/^[0-9a-f:.]{1,24}$/),
      fc.array(fc.constantFrom('::', ':', '0', 'ff', '1.2.3.4', 'ffff', '256', '12345'), { maxLength: 10 }),
    )
    fc.assert(
      fc.property(texts, (given) => {
        const text = Array.isArray(given) ? given.join('') : given
        const bytes = parseAddress(text)
        expect(bytes === null ? 0 : bytes.length === 4 ? 4 : 6).toBe(isIP(text))
      }),
      { numRuns: 5_000 },
    )
  })

  it('places addresses in ranges as the platform does', () => {
    const pairs = [fc.tuple(fc.ipV4(), fc.ipV4(), fc.nat(32)), fc.tuple(fc.ipV6(), fc.ipV6(), fc.nat(128))]
    fc.assert(
      fc.property(fc.oneof(...pairs), ([address, network, bits]) => {
        const family = network.includes(':') ? 'ipv6' : 'ipv4'
        const list = new BlockList()
        list.addSubnet(network, bits, family)
        const range = parseCidr(`${network}/${bits}`)
        fc.pre(range !== null && refusedAddress(address, true) === null)
        const isPrivate = refusedAddress(address, false) !== null
        const expected = isPrivate && !list.check(address, family)
        expect(refusedAddress(address, [range]) !== null).toBe(expected)
      }),
      { numRuns: 2_000 },
    )
  })
})
