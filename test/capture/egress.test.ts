import { connect, createServer, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { startRecorder } from '../support/recorder.ts'
import { createTestCa } from '../support/test-ca.ts'
import { noNamespaces } from './network.ts'
import { AGENT, AGENT_UID, connector, HOST, permission, startGovernedPod, trustVariables } from './sidecar.ts'

const reason = noNamespaces()

describe.skipIf(reason !== null)(
  `egress of a governed pod${reason === null ? '' : ` (skipped: ${reason})`}`,
  () => {
    test('names exist when the gateway lists them, whichever list it is', async () => {
      await using pod = await startGovernedPod({
        sections: () => ({
          gateway: gatewaySection({
            allowedHosts: ['*.allowed.test'],
            tcp: [{ host: 'db.test', port: 5432 }],
          }),
        }),
      })
      const names = [HOST, 'a.allowed.test', 'db.test', 'allowed.test', 'evil.test', 'chaperone.internal']
      const ran = await pod.network.exec(['/usr/bin/python3', '-c', lookUp(names)], { uid: AGENT_UID })
      expect(ran.stdout.trim().split('\n')).toEqual([
        `${HOST} yes`,
        'a.allowed.test yes',
        'db.test yes',
        'allowed.test no',
        'evil.test no',
        'chaperone.internal yes',
      ])
      const path = 'chaperone.internal/.well-known/chaperone'
      const curl = ['curl', '-sS', '-m', '8']
      const answer = await pod.network.exec([...curl, `http://${path}`], { uid: AGENT_UID })
      expect(JSON.parse(answer.stdout)).toMatchObject({ agent: AGENT, mcp: 'http://chaperone.internal/mcp' })
      // The gateway has no certificate for its name.
      const env = trustVariables(pod.trustDir)
      const tls = await pod.network.exec([...curl, `https://${path}`], { uid: AGENT_UID, env })
      expect(tls.stdout).not.toContain('mcp')
      expect(pod.upstream.connections).toBe(0)
    })

    test('a host that passes undecrypted shows its own certificate, and its tunnel is one record', async () => {
      const ca = createTestCa()
      await using other = await startRecorder({ tls: ca.issue('pass.test') })
      await using pod = await startGovernedPod({
        sections: () => ({ connectors: [] }),
      })
      const port = await pod.network.expose(other.port)
      pod.fake.configure({
        connectors: [
          connector(
            { url: `https://${pod.network.host.v4}:${port}` },
            { domains: ['pass.test'], tlsMode: 'passthrough' },
          ),
        ],
      })
      await eventually('snapshot', () => pod.fake.acks.at(-1)?.version === pod.fake.version || null)
      const env = { ...trustVariables(pod.trustDir), CURL_CA_BUNDLE: '' }
      const ran = await pod.network.exec(['curl', '-sSkv', '-m', '8', 'https://pass.test/x'], {
        uid: AGENT_UID,
        env,
      })
      expect(ran.stderr).toContain('issuer: CN=test root')
      await eventually('record', () => pod.fake.records.length === 1 || null)
      expect(pod.fake.records[0]).toMatchObject({
        action_type: 'generic.tunnel.open',
        decision: 'ALLOW',
        host: 'pass.test',
      })
      expect(other.seen).toHaveLength(1)
      expect(other.seen[0]?.header('authorization')).toBeUndefined()
    })

    test('a denied tunnel sends the reason inside TLS, and the upstream sees no connection', async () => {
      await using pod = await startGovernedPod({
        sections: (at) => ({
          connectors: [connector(at, { tlsMode: 'passthrough' })],
          'permissions.00': [permission('generic.*', 'deny')],
        }),
      })
      const env = trustVariables(pod.trustDir)
      const ran = await pod.network.exec(['curl', '-sS', '-m', '8', `https://${HOST}/x`], {
        uid: AGENT_UID,
        env,
      })
      expect(JSON.parse(ran.stdout)).toMatchObject({ decision: 'deny', action_type: 'generic.tunnel.open' })
      await eventually('record', () => pod.fake.records.length === 1 || null)
      expect(pod.upstream.connections).toBe(0)
    })

    test('certificates of the control plane are for the terminated hosts, and follow them', async () => {
      const hosts = [HOST]
      let connectors = (_domains: readonly string[]): readonly unknown[] => []
      await using pod = await startGovernedPod({
        hosts: () => hosts,
        sections(at) {
          connectors = (domains) => [connector(at, { domains })]
          return { connectors: connectors([HOST]) }
        },
      })
      const shown = async (host: string): Promise<string> => {
        const at = ['--resolve', `${host}:443:198.51.100.7`, `https://${host}/x`]
        const ran = await pod.network.exec(['curl', '-sSv', '-m', '8', ...at], {
          uid: AGENT_UID,
          env: trustVariables(pod.trustDir),
        })
        const issuer = /issuer: (.*)/.exec(ran.stderr)?.[1] ?? ran.stderr
        return `${issuer} ${/< HTTP\/\S+ (\d+)/.exec(ran.stderr)?.[1]}`
      }
      expect(await shown(HOST)).toMatch(new RegExp(`CN=Chaperone ${AGENT} 200$`))
      expect(await shown('new.test')).toMatch(/alert access denied.* undefined$/s)
      hosts.push('new.test')
      pod.fake.configure({ connectors: connectors([HOST, 'new.test']) })
      await eventually(
        'certificate',
        async () => (await shown('new.test')).startsWith(`O=Chaperone; CN=Chaperone ${AGENT}`) || null,
      )
      expect(await shown('other.test')).toMatch(/alert access denied.* undefined$/s)
      const denied = await eventually('record of the refusal', () => {
        const found = pod.fake.records.filter(({ host }) => host === 'other.test')
        return found.length > 0 ? found : null
      })
      expect(denied).toMatchObject([{ decision: 'DENY', reason: 'unknown_host', status: 403 }])
      expect(pod.upstream.seen.every((seen) => seen.header('host') !== 'other.test')).toBe(true)
    })

    test('names and addresses without a connector have one record each, for every kind of request', async () => {
      await using pod = await startGovernedPod()
      const script = `import socket,ssl
for n in ("evil.test","${HOST}","evil.test","a.evil.test","redis"):
  try: socket.getaddrinfo(n,443); print(n,"yes")
  except socket.gaierror: print(n,"no")
c=ssl.create_default_context()
for name in ("evil.test","bare.test","bare.test"):
  try: c.wrap_socket(socket.create_connection(("203.0.113.9",443),5),server_hostname=name); print("open")
  except OSError as e: print("closed",name)
for port,first in ((22,b"SSH-2.0-x\\r\\n"),(5432,b"\\0\\0\\0\\x08\\x04\\xd2\\x16\\x2f")):
  s=socket.create_connection(("203.0.113.9",port),5); s.settimeout(15); s.send(first); print(s.recv(9))`
      const ran = await pod.network.exec(['/usr/bin/python3', '-c', script], {
        uid: AGENT_UID,
        env: trustVariables(pod.trustDir),
      })
      expect(ran.stdout.trim().split('\n'), ran.stderr).toEqual([
        'evil.test no',
        `${HOST} yes`,
        'evil.test no',
        'a.evil.test no',
        'redis no',
        'closed evil.test',
        'closed bare.test',
        'closed bare.test',
        "b''",
        "b''",
      ])
      const names = ['203.0.113.9:22', 'a.evil.test', 'bare.test', 'evil.test']
      const shown = await eventually('records', () => {
        const hosts = pod.fake.records.map(({ host, reason }) => `${host} ${reason}`)
        return hosts.includes('203.0.113.9:22 unknown_host') && hosts.includes('bare.test unknown_host')
          ? hosts
          : null
      })
      // A single label is recorded with its search domains, and then alone.
      const dotted = shown.filter((line) => !line.startsWith('redis'))
      expect(dotted.toSorted()).toEqual(names.map((name) => `${name} unknown_host`))
      expect(shown.filter((line) => line.startsWith('redis'))).toContain('redis unknown_host')
      expect(pod.network.left()).toEqual({ packets: 0, destinations: [] })
    })

    test('a connector on other ports is reached there, over TLS and over plain HTTP', async () => {
      await using pod = await startGovernedPod({
        sections: (at) => ({ connectors: [connector(at, { ports: [8443, 8000] })] }),
      })
      for (const url of [`https://${HOST}:8443/x`, `http://${HOST}:8000/x`]) {
        const ran = await pod.network.exec(
          ['curl', '-sS', '-m', '8', '-o', '/dev/null', '-w', '%{http_code}', url],
          { uid: AGENT_UID, env: trustVariables(pod.trustDir) },
        )
        expect(ran.stdout, ran.stderr).toBe('200')
      }
      expect(pod.upstream.seen.map((seen) => seen.header('host'))).toEqual([`${HOST}:8443`, `${HOST}:8000`])
    })

    test('egress.tcp matches by name and port, for any protocol, including those in which the server sends first', async () => {
      const address = '198.51.100.7'
      await using pod = await startGovernedPod({
        sections: () => ({ gateway: gatewaySection({ tcp: [{ host: 'shell.test', port: 22 }] }) }),
      })
      const resolver = await pod.network.serveNames({ 'shell.test': address })
      pod.network.addAddress(address)
      await using server = await greetingServer(address, 22)
      const read = (port: number) =>
        `import socket;s=socket.create_connection(("shell.test",${port}),5);s.settimeout(15);print(s.recv(100))`
      const ran = await pod.network.exec(['/usr/bin/python3', '-c', read(22)], { uid: AGENT_UID })
      expect(ran.stdout, ran.stderr).toContain('SSH-2.0-test')
      await eventually('record', () => pod.fake.records.length === 1 || null)
      expect(pod.fake.records[0]).toMatchObject({ decision: 'ALLOW', host: 'shell.test', method: 'CONNECT' })
      expect(resolver.asked.filter((name) => name !== 'shell.test')).toEqual([])
      const other = await pod.network.exec(['/usr/bin/python3', '-c', read(23)], { uid: AGENT_UID })
      expect(other.stdout).toContain("b''")
      await eventually('record', () => pod.fake.records.length === 2 || null)
      expect(pod.fake.records[1]).toMatchObject({
        decision: 'DENY',
        note: 'unsupported_protocol',
        host: 'shell.test:23',
      })
      expect(server.connections()).toBe(1)
      expect(pod.network.left()).toEqual({ packets: 0, destinations: [] })
    })

    test('where unmatched hosts are allowed, a name resolves if it resolves outside, and its tunnel is recorded', async () => {
      const address = '198.51.100.8'
      const ca = createTestCa()
      await using other = await startRecorder({ tls: ca.issue('open.test') })
      await using pod = await startGovernedPod({
        sections: () => ({ gateway: gatewaySection({ unmatchedHosts: 'tunnel' }) }),
      })
      await pod.network.serveNames({ 'open.test': address })
      pod.network.addAddress(address)
      await using _relay = await relay(address, 443, other.port)
      const ran = await pod.network.exec(['/usr/bin/python3', '-c', lookUp(['open.test', 'no.test'])], {
        uid: AGENT_UID,
      })
      expect(ran.stdout.trim().split('\n')).toEqual(['open.test yes', 'no.test no'])
      const fetched = await pod.network.exec(['curl', '-sSkv', '-m', '8', 'https://open.test/x'], {
        uid: AGENT_UID,
      })
      expect(fetched.stderr).toContain('issuer: CN=test root')
      await eventually('record', () => pod.fake.records.length === 1 || null)
      expect(pod.fake.records[0]).toMatchObject({ decision: 'ALLOW', host: 'open.test' })
    })
  },
)

function gatewaySection(egress: Record<string, unknown>) {
  return {
    id: 'gw_1',
    name: 'team/gateway',
    enforcementLevel: 'full_enforce',
    defaultDecision: 'deny',
    egress: { unmatchedHosts: 'deny', allowedHosts: [], tcp: [], ...egress },
    rateLimit: { requestsPerMinute: 1_000 },
    approvals: { timeoutSeconds: 300, maxPendingPerAgent: 20 },
    failurePolicy: { highRiskAfterSeconds: 30, writesAfterSeconds: 120, everythingAfterSeconds: 600 },
  }
}

function lookUp(names: readonly string[]): string {
  return [
    'import socket',
    `for n in ${JSON.stringify(names)}:`,
    '  try:',
    '    socket.getaddrinfo(n,443); print(n,"yes")',
    '  except socket.gaierror: print(n,"no")',
  ].join('\n')
}

type Listening = AsyncDisposable & { connections(): number }

function greetingServer(host: string, port: number): Promise<Listening> {
  return listen(host, port, (socket) => socket.end('SSH-2.0-test\r\n'))
}

function relay(host: string, port: number, to: number): Promise<Listening> {
  return listen(host, port, (socket) => {
    const up = connect(to, '127.0.0.1')
    socket.on('error', () => up.destroy()).pipe(up)
    up.on('error', () => socket.destroy()).pipe(socket)
  })
}

async function listen(host: string, port: number, serve: (socket: Socket) => void): Promise<Listening> {
  let count = 0
  const server = createServer((socket) => {
    count++
    serve(socket)
  })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  return {
    connections: () => count,
    async [Symbol.asyncDispose]() {
      server.close()
    },
  }
}
