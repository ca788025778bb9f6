import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { iptablesScript } from '../../core/capture/iptables.ts'
import { buildGoModule } from '../support/go-module.ts'
import { GVISOR } from '../support/gvisor.ts'
import { hasCommand } from '../support/has-command.ts'
import { attempt, connect, datagram, PRIVILEGES, WAYS_OUT } from '../support/hostile-attempts.ts'
import { IS_FULL } from '../support/proof.ts'
import { createPodNetwork, noNamespaces } from './network.ts'

const reason =
  noNamespaces() ??
  (IS_FULL ? null : 'only in test:nightly') ??
  (hasCommand('go') && hasCommand('iptables-legacy-restore') ? null : 'needs go and iptables')
const PROXY_UID = 1_900_000_001
/** A program as a user without capabilities, or as root without them. */
type Program = { readonly uid: number; readonly python: string }

/** Runs the rule setter and then programs in one sandbox of the real runsc, without a proxy behind the rules. */
describe.skipIf(reason !== null)(`the capture rules under gVisor (${reason ?? GVISOR.version})`, () => {
  let runsc: string
  let folder: string
  beforeAll(async () => {
    runsc = join((await buildGoModule(GVISOR)).folder, 'runsc')
  }, 1_800_000)

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'chaperone-gvisor-'))
    // The programs of the other users are here.
    chmodSync(folder, 0o755)
  })
  afterAll(() => {
    // A mount that runsc keeps in its folder.
    execFileSync('umount', [join(folder, 'state/null-netns')])
    rmSync(folder, { recursive: true, force: true })
  })

  /** Resolves with what the rule setter and each program printed, and the packets that left. */
  async function run(flags: readonly string[], programs: readonly Program[]) {
    // A sandbox takes the addresses of its network namespace, so each one needs a new one.
    await using network = await createPodNetwork()
    const setter = join(folder, 'iptables.sh')
    writeFileSync(setter, iptablesScript())
    const commands = programs.map(({ uid, python }, at) => {
      const file = join(folder, `${at}.py`)
      writeFileSync(file, python)
      return `setpriv --reuid=${uid} --regid=${uid} --clear-groups --bounding-set=-all --no-new-privs python3 ${file}`
    })
    const all = [`/bin/sh ${setter} ${PROXY_UID}`, ...commands]
    writeFileSync(
      join(folder, 'all.sh'),
      all.map((command) => `${command} 2>&1; echo "code $?"; echo ----\n`).join(''),
    )
    writeFileSync(join(folder, 'config.json'), JSON.stringify(bundle(network.name, join(folder, 'all.sh'))))
    const state = join(folder, 'state')
    const fixed = [`--root=${state}`, '--platform=systrap', '--network=sandbox']
    const { stdout } = await promisify(execFile)(
      runsc,
      [...fixed, ...flags, 'run', '--bundle', folder, network.name],
      { timeout: 240_000 },
    )
    const [rules, ...said] = stdout.split('----\n')
    return { rules, said, left: network.left() }
  }

  test.each([
    ['uid 1000', 1_000],
    ['root without capabilities', 0],
  ])(
    'hold an agent as %s: nothing leaves',
    async (_who, uid) => {
      const ways = [...WAYS_OUT.map(([, python]) => python), ...MORE]
      const programs = [...PRIVILEGES.map(([, statement]) => attempt(statement)), ...ways]
      const { rules, said, left } = await run(
        ['--net-raw'],
        // The proxy last, whose packets leave: they are counted.
        [...programs.map((python) => ({ uid, python })), { uid: PROXY_UID, python: ALLOWED }],
      )
      expect(rules).toBe('code 0\n')
      for (const text of said.slice(0, programs.length)) expect(text).toMatch(/\ncode 0\n$/)
      for (const [at, [what]] of PRIVILEGES.entries()) expect(said[at], what).not.toContain('DONE')
      for (const [at, way] of ways.entries())
        expect(said[PRIVILEGES.length + at], way).not.toContain("ANSWER b'h")
      expect(left.destinations).toEqual(['198.51.100.99 tcp'])
    },
    300_000,
  )

  test('cannot be set without raw sockets, and the last output has the remedy', async () => {
    const { rules } = await run([], [])
    expect(rules).toMatch(
      /^The traffic of this pod cannot be captured: ip6tables-legacy-restore failed \(.*unable to initialize table 'filter'.*\)\. .*net-raw = "true" in runsc\.toml.*interception: proxyEnv\.\ncode 1\n$/,
    )
  }, 300_000)
})

const ALLOWED = connect('AF_INET', '198.51.100.99', 9)
/** Ways that a rule could miss: a source port of a server, a device, fragments, multicast and broadcast. */
const MORE: readonly string[] = [
  ...['8080', '30000'].map((port) =>
    attempt(
      `s = socket.socket(); s.settimeout(2); s.bind(('0.0.0.0', ${port})); s.connect(('198.51.100.7', 9)); print('ANSWER', s.recv(99))`,
    ),
  ),
  attempt(
    "s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, 25, b'eth0'); s.settimeout(2); s.connect(('198.51.100.7', 9)); print('ANSWER', s.recv(99))",
  ),
  attempt(
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, 25, b'eth0'); s.sendto(b'x', ('198.51.100.7', 9))",
  ),
  attempt("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x' * 5000, ('198.51.100.7', 9))"),
  attempt("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('224.1.1.1', 9))"),
  attempt(
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1); s.sendto(b'x', ('255.255.255.255', 9))",
  ),
  attempt(
    "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM, 58); s.sendto(bytes([128, 0, 0, 0, 0, 0, 0, 0]), ('2001:db8::7', 0))",
  ),
  datagram('AF_INET6', 'ff02::1', 9),
]

/** An OCI bundle with the files of this machine, and the capabilities of a rule setter that also changes its user. */
function bundle(network: string, script: string): object {
  const names = ['NET_ADMIN', 'NET_RAW', 'SETUID', 'SETGID', 'SETPCAP'].map((name) => `CAP_${name}`)
  const namespaces = ['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type }))
  return {
    ociVersion: '1.0.0',
    process: {
      ...{ user: { uid: 0, gid: 0 }, args: ['/bin/sh', script], cwd: '/', noNewPrivileges: true },
      env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
      capabilities: { bounding: names, effective: names, permitted: names },
    },
    root: { path: '/', readonly: true },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs' },
    ],
    linux: { namespaces: [...namespaces, { type: 'network', path: `/run/netns/${network}` }] },
  }
}
