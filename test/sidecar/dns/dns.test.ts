import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { decode, encode, type Packet, streamEncode } from 'dns-packet'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../../controlplane/cli/postgres/free-port.ts'
import { type AddressPool, createAddressPool } from '../../../sidecar/listener/dns/address-pool.ts'
import { createDns } from '../../../sidecar/listener/dns/dns.ts'
import { answerDns, type DnsAnswerDeps } from '../../../sidecar/listener/dns/dns-answer.ts'
import { eventually } from '../../support/eventually.ts'

const OWNED = 'api.example.test'

function deps(
  changes: Partial<DnsAnswerDeps> = {},
): DnsAnswerDeps & { readonly pool: AddressPool; asked: string[]; unowned: string[] } {
  const asked: string[] = []
  const unowned: string[] = []
  return {
    ownerOf: (name) => (name === OWNED ? 'governed' : 'unknown'),
    exists: async (name) => {
      asked.push(name)
      return name === 'there.test'
    },
    answersUnowned: false,
    onUnowned: (name) => void unowned.push(name),
    families: () => ({ v4: true, v6: true }),
    asked,
    unowned,
    ...changes,
    pool: createAddressPool(),
  }
}

function query(name: string, type = 'A', more: Partial<Packet> = {}): Packet {
  return { type: 'query', id: 7, flags: 0x100, questions: [{ name, type: type as 'A' }], ...more }
}

function addressOf(packet: Packet | undefined): string {
  const [answer] = packet?.answers ?? []
  return answer !== undefined && 'data' in answer ? String(answer.data) : ''
}

const rcode = (packet: Packet): number => (packet.flags ?? 0) & 15

describe('the answer to a query', () => {
  test('is an address of its own for each owned name, in both families, and leads back to the name', async () => {
    const given = deps({ ownerOf: () => 'governed' })
    const [a, b] = await Promise.all([OWNED, 'other.test'].map((name) => answerDns(query(name), given)))
    const six = await answerDns(query(OWNED, 'AAAA'), given)
    const addresses = [a, b, six].map((packet) => addressOf(packet))
    expect(new Set(addresses).size).toBe(3)
    expect(addresses.map(given.pool.nameOf)).toEqual([OWNED, 'other.test', OWNED])
    expect(addresses[0]).toMatch(/^198\.18\./)
    expect(addresses[2]).toMatch(/^100::/)
  })

  test('is an address for the host of the gateway itself, which no list names', async () => {
    const given = deps({ ownerOf: () => null })
    const reply = await answerDns(query('Chaperone.Internal'), given)
    expect(given.pool.nameOf(addressOf(reply))).toBe('chaperone.internal')
    const unlisted = deps({ answersUnowned: true })
    expect(addressOf(await answerDns(query('chaperone.internal'), unlisted))).toMatch(/^198\.18\./)
    expect(unlisted.unowned).toEqual([])
    expect(rcode(await answerDns(query('x.chaperone.internal'), deps()))).toBe(3)
  })

  test('keeps the spelling of the question and answers the name in any spelling', async () => {
    const reply = await answerDns(query('Api.EXAMPLE.test'), deps())
    expect(reply.questions?.[0]?.name).toBe('Api.EXAMPLE.test')
    expect(reply.answers?.[0]?.name).toBe('Api.EXAMPLE.test')
  })

  test('is NODATA for an address family without a route', async () => {
    const reply = await answerDns(query(OWNED, 'AAAA'), deps({ families: () => ({ v4: true, v6: false }) }))
    expect(rcode(reply)).toBe(0)
    expect(reply.answers ?? []).toEqual([])
  })

  test.each(['UNKNOWN_65', 'UNKNOWN_64', 'TXT', 'MX', 'SRV', 'CNAME', 'NS'])(
    'carries nothing for %s',
    async (type) => {
      const reply = await answerDns(query(OWNED, type), deps())
      expect([rcode(reply), reply.answers ?? []]).toEqual([0, []])
    },
  )

  test.each(['A', 'AAAA', 'TXT', 'UNKNOWN_65'])(
    'answers that other names do not exist (%s), without a query to another server',
    async (type) => {
      const given = deps()
      expect(rcode(await answerDns(query('secret.evil.test', type), given))).toBe(3)
      expect(given.asked).toEqual([])
    },
  )

  test('resolves outside only unlisted names that the gateway allows', async () => {
    const given = deps({ ownerOf: (name) => (name === OWNED ? 'governed' : 'open') })
    expect(rcode(await answerDns(query('there.test'), given))).toBe(0)
    expect(rcode(await answerDns(query('nowhere.test'), given))).toBe(3)
    expect(rcode(await answerDns(query(OWNED), given))).toBe(0)
    expect(given.asked).toEqual(['there.test', 'nowhere.test'])
  })

  test('is an address for any name before the first snapshot, so that the client receives 503', async () => {
    const reply = await answerDns(query('any.test'), deps({ ownerOf: () => null }))
    expect(reply.answers).toHaveLength(1)
  })

  test('sets RA: without it resolvers take an empty answer for a referral', async () => {
    expect(((await answerDns(query(OWNED, 'TXT'), deps())).flags ?? 0) & 0x80).toBe(0x80)
  })

  test('uses EDNS when the query does', async () => {
    const opt = {
      type: 'OPT',
      name: '.',
      udpPayloadSize: 4_096,
      extendedRcode: 0,
      ednsVersion: 0,
      flags: 0,
      flag_do: false,
      options: [],
    } as const
    const asked = decode(encode(query(OWNED, 'A', { additionals: [{ ...opt, options: [] }] })))
    expect((await answerDns(asked, deps())).additionals?.[0]?.type).toBe('OPT')
    expect((await answerDns(query(OWNED), deps())).additionals).toEqual([])
  })

  test('refuses no question, two questions, other operations and other classes', async () => {
    const two = [
      { name: OWNED, type: 'A' as const },
      { name: OWNED, type: 'AAAA' as const },
    ]
    expect(rcode(await answerDns(query(OWNED, 'A', { questions: [] }), deps()))).toBe(1)
    expect(rcode(await answerDns(query(OWNED, 'A', { questions: two }), deps()))).toBe(1)
    expect(rcode(await answerDns(query(OWNED, 'A', { flags: 0x2800 }), deps()))).toBe(4)
    const chaos = [{ name: 'version.bind', type: 'TXT' as const, class: 'CH' as const }]
    expect(rcode(await answerDns(query(OWNED, 'A', { questions: chaos }), deps()))).toBe(4)
  })
})

describe('the answer to a query for a name that no connector owns', () => {
  test.each([false, true])(
    'reports the name, whatever is asked of it (answered: %s)',
    async (answersUnowned) => {
      const given = deps({ answersUnowned })
      for (const [name, type] of [
        ['Evil.test.', 'A'],
        ['evil.test', 'TXT'],
        ['db', 'A'],
      ] as const)
        await answerDns(query(name, type), given)
      await answerDns(query(OWNED), given)
      expect(given.unowned).toEqual(['evil.test', 'evil.test', 'db'])
    },
  )

  test('is an address of the second range where refusals are sent inside TLS, and leads back to the name', async () => {
    const given = deps({ answersUnowned: true })
    const four = addressOf(await answerDns(query('evil.test'), given))
    const six = addressOf(await answerDns(query('evil.test', 'AAAA'), given))
    expect(four).toMatch(/^198\.19\./)
    expect(six).toMatch(/^100::1:/)
    expect([four, six].map(given.pool.nameOf)).toEqual(['evil.test', 'evil.test'])
    expect(given.pool.nameOf(addressOf(await answerDns(query(OWNED), given)))).toBe(OWNED)
    const text = await answerDns(query('evil.test', 'TXT'), given)
    expect([rcode(text), text.answers ?? []]).toEqual([0, []])
  })

  test.each(['db', 'printer.local', 'x.localhost', '1.0.0.10.in-addr.arpa', 'a b.test', 'x.invalid'])(
    'is NXDOMAIN for %s, which no server on the Internet has',
    async (name) => {
      expect(rcode(await answerDns(query(name), deps({ answersUnowned: true })))).toBe(3)
    },
  )

  test('takes no address of an owned name, however many names are looked up', async () => {
    const given = deps({ answersUnowned: true })
    const owned = addressOf(await answerDns(query(OWNED), given))
    for (let n = 0; n < 61_000; n++) given.pool.unowned.addressesOf(`h${n}.test`)
    expect(given.pool.nameOf(owned)).toBe(OWNED)
  })
})

describe('the assigned addresses', () => {
  test('are reassigned from the oldest name when none are left', () => {
    const pool = createAddressPool(2).owned
    const first = pool.addressesOf('a.test').v4
    pool.addressesOf('b.test')
    expect(pool.addressesOf('c.test').v4).toBe(first)
    expect(pool.nameOf(first)).toBe('c.test')
    expect(pool.addressesOf('b.test').v4).not.toBe(first)
  })

  test.each(['198.18.255.255', '10.0.0.1', '100::ffff', 'fe80::1', ''])('do not include %s', (address) => {
    expect(createAddressPool().nameOf(address)).toBeNull()
  })
})

describe('the listener', () => {
  async function started(changes: Partial<DnsAnswerDeps> = {}, monotonicMs = () => performance.now()) {
    const port = await freePort()
    const log = { debug: () => undefined, warn: () => undefined }
    const dns = await createDns({ ...deps(changes), port, monotonicMs, log })
    return { port, [Symbol.asyncDispose]: () => dns.close() }
  }

  test.each(['127.0.0.1', '::1'])(
    'answers over UDP on %s, after noise that it does not answer',
    async (address) => {
      await using dns = await started()
      const socket = createSocket(address === '::1' ? 'udp6' : 'udp4')
      const answers: Packet[] = []
      socket.on('message', (bytes) => answers.push(decode(bytes)))
      for (const noise of [
        Buffer.from('x'),
        Buffer.alloc(12, 0xff),
        encode({ ...query(OWNED), type: 'response' }),
      ])
        socket.send(noise, dns.port, address)
      socket.send(encode(query(OWNED)), dns.port, address)
      await once(socket, 'message')
      expect(answers.map((packet) => [packet.id, packet.answers?.length])).toEqual([[7, 1]])
      socket.close()
    },
  )

  test('answers any number of queries on one TCP connection, however they are cut into pieces', async () => {
    await using dns = await started()
    const socket = connect(dns.port, '127.0.0.1')
    const received: Buffer[] = []
    socket.on('data', (chunk) => received.push(chunk))
    const bytes = Buffer.concat([1, 2, 3].map((id) => streamEncode({ ...query(OWNED), id })))
    for (let at = 0; at < bytes.length; at += 5) {
      socket.write(bytes.subarray(at, at + 5))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await eventually('three answers', () => messages(Buffer.concat(received)).length === 3 || null)
    expect(
      messages(Buffer.concat(received))
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual([1, 2, 3])
    socket.destroy()
  })

  test('drops queries over its limit, and answers again a second later', async () => {
    let now = 0
    await using dns = await started({}, () => now)
    const socket = createSocket('udp4')
    const answered = new Set<number>()
    socket.on('message', (bytes) => answered.add(decode(bytes).id ?? 0))
    const send = (id: number) => socket.send(encode({ ...query(OWNED), id }), dns.port, '127.0.0.1')
    const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    for (let id = 1; id <= 1_200; id++) {
      send(id)
      if (id % 20 === 0) await pause(1)
    }
    await eventually('the queries within the limit are answered', () => answered.size > 500 || null)
    // An answer to this query would arrive meanwhile.
    send(2_000)
    await pause(200)
    expect(answered.size).toBeLessThanOrEqual(1_000)
    now += 1_000
    send(3_000)
    await eventually('the query a second later is answered', () => answered.has(3_000) || null)
    expect(answered.has(2_000)).toBe(false)
    socket.close()
  })
})

function messages(bytes: Buffer): Packet[] {
  const out: Packet[] = []
  for (let at = 0; at + 2 <= bytes.length && at + 2 + bytes.readUInt16BE(at) <= bytes.length; ) {
    const end = at + 2 + bytes.readUInt16BE(at)
    out.push(decode(bytes.subarray(at + 2, end)))
    at = end
  }
  return out
}
