import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { iptablesScript } from '../../core/capture/iptables.ts'
import { eventually } from '../support/eventually.ts'
import { createPodNetwork, noNamespaces, type PodNetwork, type Ran } from './network.ts'
import { AGENT_UID, type GovernedPod, HOST, PROXY_UID, startGovernedPod, trustVariables } from './sidecar.ts'

const OUTSIDE = '203.0.113.9'
const OUTSIDE_V6 = '2001:db8::9'
const reason = noNamespaces() ?? noIptables()
const title = reason === null ? '' : ` (skipped: ${reason})`

/** Why the legacy programs of iptables cannot be used here; null when they can. */
function noIptables(): string | null {
  try {
    execFileSync('iptables-legacy-restore', ['--version'])
    return null
  } catch {
    return 'install iptables (Debian), which has iptables-legacy-restore'
  }
}

/** The rules for gVisor on Linux, which has the same interface of iptables. */
describe.skipIf(reason !== null)(`the capture with the legacy programs of iptables${title}`, () => {
  let pod: GovernedPod
  let folder: string
  /** Runs the rule setter as in its container: root with two capabilities, and a root file system that is read-only. */
  const setRules = (network: PodNetwork, ...capabilities: string[]): Promise<Ran> => {
    const script = join(folder, 'iptables.sh')
    writeFileSync(script, iptablesScript())
    const bounding = ['-all', ...capabilities.map((name) => `+${name}`)].join(',')
    const command = `mount --bind /run /run && mount -o remount,bind,ro /run && exec setpriv --bounding-set=${bounding} --no-new-privs /bin/sh ${script} ${PROXY_UID}`
    return network.asRoot(['unshare', '-m', 'sh', '-c', command]).catch((error: unknown) => error as Ran)
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'chaperone-iptables-'))
    pod = await startGovernedPod({ hasRules: false, isStarted: false, env: { IPV6_CLOSED: 'true' } })
    expect(await setRules(pod.network, 'net_admin', 'net_raw')).toMatchObject({ code: 0, stderr: '' })
    await pod.start()
    await eventually('the capture is proven', async () =>
      (await pod.health('/started')).status === 200 ? true : null,
    )
  })
  afterAll(async () => {
    expect(pod.network.left()).toEqual({ packets: 0, destinations: [] })
    await pod[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  })

  const run = (uid: number, ...argv: string[]) =>
    pod.network.exec(argv, { uid, env: trustVariables(pod.trustDir) })
  const curl = (uid: number, ...args: string[]) =>
    run(uid, 'curl', '-sS', '-m', '8', '-o', '-', '-w', '\n%{http_code}', ...args)
  const python = (uid: number, code: string) => run(uid, '/usr/bin/python3', '-c', code)

  describe.each([
    ['a user', AGENT_UID],
    ['root', 0],
  ])('for %s', (_, uid) => {
    test('a governed call arrives with the credential', async () => {
      const ran = await curl(uid, `https://${HOST}/x`)
      expect(ran.stdout, ran.stderr).toMatch(/200$/)
    })

    test('an address on any port reaches the sidecar with its original destination', async () => {
      for (const [at, port] of [443, 8443, 27_100].entries()) {
        // Equal refusals of one address share a record.
        const destination = `203.0.113.${100 + 10 * Math.sign(uid) + at}:${port}`
        // A client that leaves before its request was read has no record of a request.
        const ran = await curl(uid, '-m', '60', '-k', `https://${destination}/`)
        expect(ran.stdout, ran.stderr).toMatch(/000$/)
        const find = () => pod.fake.records.find(({ host }) => host === destination) ?? null
        expect(await eventually('the record', find)).toMatchObject({ decision: 'DENY' })
      }
    })

    test('DNS is answered by the sidecar, whatever the server', async () => {
      const found = await python(uid, `import socket; print(socket.gethostbyname('${HOST}'))`)
      expect(found.code, found.stderr).toBe(0)
      const other = await python(uid, "import socket; print(socket.gethostbyname('secret.attacker.test'))")
      expect(other.code).not.toBe(0)
    })

    test('IPv6, UDP and other protocols do not leave', async () => {
      const tcp6 = await curl(uid, '-k', '-m', '1', `https://[${OUTSIDE_V6}]/`)
      expect(tcp6.code).toBe(28)
      const sent = await python(
        uid,
        `import socket
for family, host in ((socket.AF_INET, '${OUTSIDE}'), (socket.AF_INET6, '${OUTSIDE_V6}')):
  for port in (443, 123, 53000):
    try: socket.socket(family, socket.SOCK_DGRAM).sendto(b'x', (host, port))
    except OSError: pass`,
      )
      expect(sent.code, sent.stderr).toBe(0)
    })

    test('a source port of a server opens no way out', async () => {
      const from = (port: number) =>
        `import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('0.0.0.0', ${port})); s.settimeout(4)
s.connect(('${OUTSIDE}', 9)); s.sendall(b'out'); s.settimeout(0.3)
try: s.recv(9)
except OSError: pass`
      for (const port of [8_080 + uid, 30_000 + uid]) {
        const ran = await python(uid, from(port))
        expect(ran.code, ran.stderr).toBe(0)
      }
    })

    test('the rules and the health port of the proxy are out of reach', async () => {
      expect((await run(uid, 'iptables-legacy', '-F')).code).not.toBe(0)
      expect((await curl(uid, '-m', '1', 'http://127.0.0.1:15021/ready')).code).toBe(28)
    })
  })

  test('a server of the agent answers connections from outside', async () => {
    await using network = await createPodNetwork()
    expect(await setRules(network, 'net_admin', 'net_raw')).toMatchObject({ code: 0 })
    const serve =
      "import socket; s = socket.create_server(('0.0.0.0', 8888)); c, _ = s.accept(); c.sendall(b'served'); c.close()"
    const served = network.exec(['/usr/bin/python3', '-c', serve], { uid: AGENT_UID })
    const answer = await eventually(
      'the answer',
      async () => (await fromOutside(network.own.v4, 8888)) || null,
    )
    expect(answer).toBe('served')
    await served
  })

  test('without the rules the probe proves nothing, although closed IPv6 does not answer either', async () => {
    await using bare = await startGovernedPod({
      ...{ hasRules: false, isStarted: false, env: { IPV6_CLOSED: 'true' } },
    })
    void bare.start(10_000).catch(() => undefined)
    await eventually('the probe', () => bare.log().includes('traffic is not captured') || null)
    expect((await bare.health('/started')).status).toBe(503)
  })

  test('a rule setter without raw sockets ends with the remedy', async () => {
    const ran = await setRules(pod.network, 'net_admin')
    expect(ran.code).not.toBe(0)
    expect(ran.stderr).toMatch(
      /^The traffic of this pod cannot be captured: ip6tables-legacy-restore failed \(.+\)\. gVisor admits the capture rules only where the node sets net-raw = "true" in runsc\.toml\. Set net-raw on the nodes of this RuntimeClass, or use a Gateway with interception: proxyEnv\.\n$/,
    )
  })
})

async function fromOutside(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect({ host, port })
    socket.on('data', (chunk) => {
      text += String(chunk)
    })
    socket.on('error', () => resolve(''))
    socket.on('close', () => resolve(text))
  })
}
