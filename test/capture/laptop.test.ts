import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decode, encode } from 'dns-packet'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isOpenToCaptured } from '../../controlplane/cli/capture/captured-access.ts'
import { maskedFolders } from '../../controlplane/cli/capture/masked-folders.ts'
import { assertCaptureSupported } from '../../controlplane/cli/capture/namespace.ts'
import { seccompCommand } from '../../controlplane/cli/capture/seccomp-filter.ts'
import { startingCapturesMasked } from '../../controlplane/cli/capture/starting-captures.ts'
import { assertDataFolderMasked, protectManifests } from '../../controlplane/cli/up/protect-manifests.ts'
import { ConnectionPreamble } from '../../core/capture/connection-preamble.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { size } from '../support/proof.ts'
import type { CommandResult } from '../support/run-command.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'
import { noNamespaces } from './network.ts'

const reason = noNamespaces()
const title = reason === null ? '' : ` (skipped: ${reason})`
const GITHUB = 'https://api.github.com/repos/acme/site/issues'

const JAVA = `import java.net.URI;import java.net.http.*;
public class Client{public static void main(String[] a)throws Exception{
System.out.println(HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("${GITHUB}")).build(),HttpResponse.BodyHandlers.ofString()).statusCode());}}`

describe.skipIf(reason !== null)(`chaperone run --capture${title}`, () => {
  let vendors: Vendors
  let laptop: Laptop
  beforeAll(async () => {
    vendors = await startVendors()
    laptop = await startLaptop({
      database: 'worker',
      isCaptured: true,
      manifests: { 'vendors.yaml': vendors.manifests },
    })
  })
  afterAll(async () => {
    await laptop.stop()
    await vendors.recorder.close()
  })

  /** Hosts without a connector, one for each record. */
  async function refusedHosts(): Promise<readonly string[]> {
    const shown = await laptop.cli(['traffic', '--json', '--limit', '500'])
    const records: { readonly host: string; readonly reason: string }[] = shown.stdout
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
    return records.filter(({ reason }) => reason === 'unknown_host').map(({ host }) => host)
  }

  const run = (...command: string[]): Promise<CommandResult> =>
    laptop.cli(['run', '--capture', '--', ...command])

  /** One and Java in `npm test`, which has each of them in `clients/clients.test.ts`, in a pod. */
  const programs: ReadonlyArray<readonly [name: string, command: readonly string[]]> = [
    ['fetch of Node', [process.execPath, '-e', `fetch('${GITHUB}').then(r=>console.log(r.status))`]],
    [
      'https of Node',
      [process.execPath, '-e', `require('https').get('${GITHUB}',r=>{r.resume();console.log(r.statusCode)})`],
    ],
    [
      'curl with the option to use no proxy',
      ['curl', '-sS', '--noproxy', '*', '-o', '/dev/null', '-w', '%{http_code}', GITHUB],
    ],
    [
      'Python',
      ['/usr/bin/python3', '-c', `import urllib.request;print(urllib.request.urlopen('${GITHUB}').status)`],
    ],
  ]
  test.each(programs.slice(0, size(1, programs.length)))(
    'governs %s without a proxy variable',
    async (_name, command) => {
      const before = vendors.recorder.seen.length
      const ran = await run(...command)
      expect(ran.stdout, ran.stderr).toMatch(/^20[01]\s*$/)
      expect(vendors.recorder.seen).toHaveLength(before + 1)
    },
  )

  test.skipIf(!existsSync('/usr/bin/java'))('governs Java, with its own trust store', async () => {
    const file = join(laptop.data, '..', 'Client.java')
    writeFileSync(file, JAVA)
    const ran = await run('/usr/bin/java', file)
    expect(ran.stdout, ran.stderr).toMatch(/^20[01]\s*$/)
  })

  test('sets no proxy variable, and keeps input, output and the exit code of the command', async () => {
    const ran = await run('sh', '-c', 'env | grep -ic "_proxy="; echo err >&2; exit 7')
    expect(ran).toMatchObject({ code: 7, stdout: '0\n' })
    // Before the command, how to create the owner link, because the installation has no owner; the link itself is for terminals only.
    expect(ran.stderr).toMatch(
      /^chaperone: .*Become the owner: .* owner-link --data .*\nchaperone: .*\nerr\n$/,
    )
  })

  test('refuses a host without a connector, other protocols and UDP', async () => {
    const ssh =
      'import socket;s=socket.create_connection(("203.0.113.9",22),5);s.send(b"SSH-2.0-x\\r\\n");s.settimeout(5);print(s.recv(10))'
    const udp =
      'import socket;s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);s.sendto(b"x",("203.0.113.9",443))'
    // In one command: each start takes 1 s of CPU time.
    const script = [
      'curl -sS -m 8 --resolve evil.test:443:203.0.113.9 https://evil.test/',
      'curl -sS -m 8 https://unknown.test/',
      'curl -sS -m 8 https://unknown/',
      `echo "ssh $(/usr/bin/python3 -c '${ssh}')"`,
      `/usr/bin/python3 -c '${udp}'; echo "udp $?"`,
    ]
    const { stdout, stderr } = await run('sh', '-c', script.join('\n'))
    expect(stdout).toContain('No connector owns evil.test:443')
    expect(stdout, stderr).toContain('list unknown.test in egress.allowedHosts')
    expect(stderr).toContain('resolve host')
    expect(stdout).toContain("ssh b''")
    expect(stdout).toMatch(/udp [1-9]/)
    // The control plane stores records after the gateway has answered.
    await eventually('records of all refused hosts', async () => {
      const hosts = await refusedHosts()
      return ['evil.test', 'unknown', 'unknown.test'].every((host) => hosts.includes(host)) ? true : null
    })
  })

  test('masks more sockets than one environment variable can name', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'chaperone-many-'))
    // 1,400 paths of more than 100 bytes, because Linux limits one string to 128 KiB.
    const script = `import os,resource,socket,sys
hard=resource.getrlimit(resource.RLIMIT_NOFILE)[1];resource.setrlimit(resource.RLIMIT_NOFILE,(hard,hard))
base=sys.argv[1];all=[]
for n in range(1400):
  s=socket.socket(socket.AF_UNIX);s.bind((base+"/%04d"%n).ljust(104,"x"));s.listen();all.append(s)
print("ready",flush=True);sys.stdin.read()`
    const daemon = spawn('/usr/bin/python3', ['-c', script, dir], { stdio: ['pipe', 'pipe', 'inherit'] })
    try {
      await once(daemon.stdout, 'data')
      const shell = `ls ${dir} | wc -l; for each in ${dir}/*; do if [ -S $each ]; then echo $each; fi; done | wc -l; env | grep -c CHAPERONE_CAPTURE_ROLE; ls ${tmpdir()} | grep -c chaperone-inside`
      const ran = await run('sh', '-c', shell)
      expect(ran.stdout, ran.stderr).toBe('1400\n0\n0\n0\n')
    } finally {
      daemon.stdin.end()
      await once(daemon, 'exit')
      rmSync(dir, { recursive: true })
    }
  })

  test('is detected by a later start whose manifests folder it can write to', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'chaperone-later-'))
    const manifests = join(dir, 'manifests')
    for (const folder of [manifests, join(dir, 'data')]) mkdirSync(folder)
    const state = join(laptop.data, '..', 'state')
    const env = { HOME: dir, XDG_STATE_HOME: state }
    const shell = `touch ${manifests}/written; until [ -e ${dir}/ended ]; do sleep 0.02; done`
    const running = run('sh', '-c', shell)
    try {
      await eventually('started', () => existsSync(join(manifests, 'written')) || null)
      expect([isOpenToCaptured(manifests, env), isOpenToCaptured(laptop.manifests, env)]).toEqual([
        true,
        false,
      ])
      const announced = readdirSync(join(state, 'chaperone')).filter((name) => name.startsWith('capture-'))
      expect(announced).toHaveLength(1)
      expect(await startingCapturesMasked(env, 0)).toBe(true)
      const warnings: string[] = []
      expect(
        await protectManifests({
          env,
          manifests,
          isTrusted: false,
          warn: (line) => void warnings.push(line),
        }),
      ).toBe(false)
      expect(warnings.join()).toContain('credentials from env, file and exec are off')
      expect(maskedFolders(env)).toContain(manifests)
      const started = assertDataFolderMasked(env, join(dir, 'data'))
      await expect(started).rejects.toThrow(`has access to the data folder ${join(dir, 'data')}`)
      await assertDataFolderMasked(env, laptop.data)
    } finally {
      writeFileSync(join(dir, 'ended'), '')
      await running
    }
    expect(isOpenToCaptured(manifests, env)).toBe(false)
    rmSync(dir, { recursive: true })
  })

  test('hides the files of other runs from captured commands', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'seen-'))
    const shell = `touch ${dir}/started; until [ -e ${dir}/ended ]; do grep -hsF ${laptop.data} ${tmpdir()}/chaperone-inside-*/*; sleep 0.02; done; true`
    const watching = run('sh', '-c', shell)
    try {
      await eventually('started', () => existsSync(join(dir, 'started')) || null)
      expect((await run('true')).code).toBe(0)
      writeFileSync(join(dir, 'ended'), '')
      expect(await watching).toMatchObject({ code: 0, stdout: '' })
    } finally {
      writeFileSync(join(dir, 'ended'), '')
      await watching
      rmSync(dir, { recursive: true })
    }
  })

  test('gives the command no capability in its namespace', async () => {
    const ran = await run(
      'sh',
      '-c',
      'nft delete table inet chaperone; ip link set chaperone0 down; nsenter -t 1 -n true; echo done',
    )
    expect(ran.stdout).toBe('done\n')
    expect(ran.stderr.match(/not permitted|denied/gi)?.length).toBeGreaterThanOrEqual(3)
    const still = await run(
      'sh',
      '-c',
      'nft delete table inet chaperone 2>/dev/null; curl -sS -m 5 http://203.0.113.9:81/ 2>&1',
    )
    expect(still.stdout).toContain('No connector owns')
  })
})

describe.skipIf(reason !== null)(`the namespace of an unprivileged user${title}`, () => {
  test('is created without privileges outside, and forwards every connection to the socket', async () => {
    const { ran, handed } = await runBesideStub(
      'id -u; curl -sS -m 5 http://any.test:8080/x; nft delete table inet chaperone; true',
    )
    expect(ran.stdout, ran.stderr).toBe('1000\nhanded over')
    expect(ran.stderr).toMatch(/not permitted/i)
    expect(handed.filter(({ kind }) => kind === 'dns').length).toBeGreaterThan(0)
    expect(handed.filter(({ kind }) => kind !== 'dns')).toEqual([
      { agent: 'me', key: 'k', kind: 'other', destination: { address: '198.18.0.9', port: 8_080 } },
    ])
  })

  test('waits for DNS responses while the gateway is busy', async () => {
    const { ran, handed } = await runBesideStub('getent ahostsv4 any.test', { dnsDelayMs: 6_000 })
    expect(ran.stdout, ran.stderr).toContain('198.18.0.9')
    // The same query was not retried repeatedly.
    expect(handed.length).toBeLessThanOrEqual(2)
  })
})

/** A captured shell script of an ordinary user, with a mock gateway. */
async function runBesideStub(shell: string, { dnsDelayMs = 0 } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'chaperone-user-'))
  chmodSync(dir, 0o755)
  const folder = join(dir, 'data', 'gateway')
  mkdirSync(folder, { recursive: true })
  for (const path of [join(dir, 'data'), folder]) chmodSync(path, 0o777)
  const handed: ConnectionPreamble[] = []
  const server = await stubGateway(join(folder, 'capture.sock'), { handed, dnsDelayMs })
  const script = `
    import { runCaptured, runNamespaceProcess } from '${new URL('../../controlplane/cli/capture/run-captured.ts', import.meta.url).href}'
    import { dataFolder } from '${new URL('../../controlplane/cli/state/data-folder.ts', import.meta.url).href}'
    const command = ['sh', '-c', ${JSON.stringify(shell)}]
    const inside = await runNamespaceProcess(command, process.env)
    process.exitCode = inside ?? (await runCaptured({ agent: 'me', key: 'k', folder: dataFolder('${join(dir, 'data')}'), masked: () => [], command, env: () => process.env, ownEnv: process.env }))`
  const file = join(dir, 'run.mjs')
  writeFileSync(file, script)
  const ran = await asUser(1_000, [process.execPath, file])
  server.close()
  rmSync(dir, { recursive: true, force: true })
  return { ran, handed }
}

describe('a machine without support for capture', () => {
  test('reports the packages to install', () => {
    expect(() => assertCaptureSupported({ PATH: '/nowhere' }, 'darwin')).toThrow('only Linux')
    expect(() => seccompCommand('s390x')).toThrow('does not support s390x')
    expect(() => assertCaptureSupported({ PATH: '/nowhere' }, 'linux')).toThrow(
      /unshare.*Install .*util-linux/,
    )
  })
})

/** Answers every query with one address and every connection with one text. */
async function stubGateway(
  path: string,
  { handed, dnsDelayMs }: { readonly handed: ConnectionPreamble[]; readonly dnsDelayMs: number },
): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    let what: ConnectionPreamble | null = null
    let bytes = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk])
      if (what === null) {
        const end = bytes.indexOf(10)
        if (end === -1) return
        what = ConnectionPreamble.parse(JSON.parse(bytes.toString('utf8', 0, end)))
        handed.push(what)
        bytes = bytes.subarray(end + 1)
      }
      if (bytes.length < 3) return
      if (what.kind !== 'dns') socket.end('HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhanded over')
      else setTimeout((answer) => socket.end(answer), dnsDelayMs, dnsAnswer(bytes.subarray(2)))
    })
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  chmodSync(path, 0o777)
  return server
}

function dnsAnswer(query: Buffer): Buffer {
  const { id = 0, questions = [] } = decode(query)
  const isA = questions[0]?.type === 'A'
  const name = questions[0]?.name ?? ''
  const reply = encode({
    ...{ type: 'response', id, flags: 0x180, questions },
    answers: isA ? [{ type: 'A', name, ttl: 5, data: '198.18.0.9' }] : [],
  })
  const head = Buffer.alloc(2)
  head.writeUInt16BE(reply.length)
  return Buffer.concat([head, reply])
}

function asUser(uid: number, argv: readonly string[]): Promise<CommandResult> {
  const args = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--', ...argv]
  const child = spawn('setpriv', args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/' })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += String(chunk)
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += String(chunk)
  })
  return new Promise((resolve) =>
    child.once('close', (code) => resolve({ code: code ?? -1, stdout, stderr })),
  )
}
