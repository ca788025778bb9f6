import { execFile, execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { createSocket, type Socket as Datagrams } from 'node:dgram'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, connect as dial, type Server } from 'node:net'
import { promisify } from 'node:util'
import { decode, encode } from 'dns-packet'
import { podRules } from '../../core/capture/rules.ts'

const run = promisify(execFile)

/** A network namespace like that of a pod, connected to this machine by a veth pair. */
export type PodNetwork = AsyncDisposable & {
  readonly name: string
  /** This machine's address in the pod, without the port. */
  readonly host: { readonly v4: string; readonly v6: string }
  readonly own: { readonly v4: string; readonly v6: string }
  /** Exposes a port of 127.0.0.1 to the pod; returns the port on `host.v4`. Its packets are not counted. */
  expose(port: number): Promise<number>
  /** A resolver at `host.v4`, like that of a cluster: resolves these names, and records queries. */
  serveNames(names: Readonly<Record<string, string>>): Promise<{ readonly asked: readonly string[] }>
  /** Adds an address to this machine that the pod can reach. Its packets are not counted. */
  addAddress(address: string): void
  loadRules(proxyUid: number): void
  load(rules: string): void
  /** Runs a command with NET_ADMIN. */
  flushRules(): void
  nft(...args: string[]): string
  /** Packets to other destinations than the exposed ports, as `address protocol`. */
  left(): { readonly packets: number; readonly destinations: readonly string[] }
  exec(argv: readonly string[], options: ExecOptions): Promise<Ran>
  asRoot(argv: readonly string[]): Promise<Ran>
  /** The prefix of a command that runs in the namespace as this user without capabilities. */
  inside(uid: number): readonly string[]
}

export type ExecOptions = {
  readonly uid: number
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}
export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** Why namespaces cannot be created here; null when they can. Throws when `CI` is set. */
export function noNamespaces(): string | null {
  const reason = problem()
  if (reason !== null && process.env['CI'] !== undefined) throw new Error(`network namespaces: ${reason}`)
  return reason
}

function problem(): string | null {
  if (process.platform !== 'linux') return 'they are a thing of Linux'
  if (process.getuid?.() !== 0) return 'run the tests as root to make them'
  try {
    execFileSync('nft', ['--version'])
    execFileSync('setpriv', ['--version'])
    const name = `chaperone-check-${process.pid}`
    execFileSync('ip', ['netns', 'add', name])
    execFileSync('ip', ['netns', 'del', name])
    return null
  } catch (error) {
    return `install nftables, iproute2 and util-linux (${error instanceof Error ? error.message : error})`
  }
}

export async function createPodNetwork({ hasIpv6 = true } = {}): Promise<PodNetwork> {
  const inner = 'eth0'
  const { id, name, outer } = addNamespace(inner)
  const host = { v4: `10.199.${id}.1`, v6: `fd99:${id.toString(16)}::1` }
  const own = { v4: `10.199.${id}.2`, v6: `fd99:${id.toString(16)}::2` }
  ip('addr', 'add', `${host.v4}/24`, 'dev', outer)
  ip('link', 'set', outer, 'up')
  ip('-n', name, 'addr', 'add', `${own.v4}/24`, 'dev', inner)
  for (const device of ['lo', inner]) ip('-n', name, 'link', 'set', device, 'up')
  ip('-n', name, 'route', 'add', 'default', 'via', host.v4)
  if (hasIpv6) {
    ip('-6', 'addr', 'add', `${host.v6}/64`, 'dev', outer, 'nodad')
    ip('-n', name, '-6', 'addr', 'add', `${own.v6}/64`, 'dev', inner, 'nodad')
    ip('-n', name, '-6', 'route', 'add', 'default', 'via', host.v6)
  }
  mkdirSync(`/etc/netns/${name}`, { recursive: true })
  // The author of a pod chooses this server. The sidecar does not use it, and the questions of the agent end at the sidecar.
  const resolver = `nameserver 198.51.100.53\nsearch team.svc.cluster.local svc.cluster.local\noptions ndots:5\n`
  writeFileSync(`/etc/netns/${name}/resolv.conf`, resolver)
  const exposed: Server[] = []
  const ports: number[] = []
  const addresses: string[] = []
  const resolvers: Datagrams[] = []

  const nft = (...args: string[]): string =>
    execFileSync('ip', ['netns', 'exec', name, 'nft', ...args], { encoding: 'utf8' })
  const nftText = (text: string, ...args: string[]): void =>
    void execFileSync('ip', ['netns', 'exec', name, 'nft', ...args, '-f', '-'], { input: text })
  const watch = (): void => nftText(watcher(inner, host.v4, { ports, addresses }))
  watch()
  const inside = (uid: number): readonly string[] => {
    const user = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups']
    const rights = ['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all', '--no-new-privs']
    return ['ip', 'netns', 'exec', name, 'setpriv', ...user, ...rights]
  }

  return {
    name,
    host,
    own,
    async expose(port) {
      const server = createServer((socket) => {
        const up = dial(port, '127.0.0.1')
        socket.on('error', () => up.destroy()).pipe(up)
        up.on('error', () => socket.destroy()).pipe(socket)
      })
      await new Promise<void>((resolve) => server.listen(0, host.v4, resolve))
      const address = server.address()
      if (address === null || typeof address === 'string') throw new Error('no port')
      exposed.push(server)
      ports.push(address.port)
      watch()
      return address.port
    },
    async serveNames(names) {
      const asked: string[] = []
      const socket = createSocket('udp4')
      socket.on('message', (bytes, from) => {
        const query = decode(bytes)
        const [question] = query.questions ?? []
        asked.push(question?.name ?? '')
        const data = question?.type === 'A' ? names[question.name] : undefined
        const isKnown = names[question?.name ?? ''] !== undefined
        const reply = {
          type: 'response' as const,
          ...(query.id === undefined ? {} : { id: query.id }),
          flags: 0x180 | (isKnown ? 0 : 3),
          questions: query.questions ?? [],
          answers: data === undefined ? [] : [{ type: 'A' as const, name: question?.name ?? '', data }],
        }
        socket.send(encode(reply), from.port, from.address)
      })
      await new Promise<void>((resolve) => socket.bind(53, host.v4, resolve))
      resolvers.push(socket)
      addresses.push(`${host.v4} udp`)
      watch()
      return { asked }
    },
    addAddress(address) {
      ip('addr', 'add', `${address}/32`, 'dev', outer)
      addresses.push(`${address} tcp`)
      watch()
    },
    loadRules: (uid) => nftText(podRules(), '-D', `proxy_uid=${uid}`),
    load: (rules) => nftText(rules),
    flushRules: () => void nft('delete', 'table', 'inet', 'chaperone'),
    nft,
    left: () => readWatcher(nft('-j', 'list', 'table', 'netdev', 'watch')),
    async exec(argv, { uid, env = {}, timeoutMs = 20_000 }) {
      const [program = '', ...args] = [...inside(uid), ...argv]
      const options = {
        env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/tmp', ...env },
        timeout: timeoutMs,
      }
      try {
        const { stdout, stderr } = await run(program, args, { ...options, encoding: 'utf8' })
        return { code: 0, stdout, stderr }
      } catch (error) {
        const {
          code = 1,
          stdout = '',
          stderr = '',
        } = error as { code?: number; stdout?: string; stderr?: string }
        return { code: typeof code === 'number' ? code : 1, stdout, stderr }
      }
    },
    inside,
    async asRoot(argv) {
      const { stdout, stderr } = await run('ip', ['netns', 'exec', name, ...argv])
      return { code: 0, stdout, stderr }
    },
    async [Symbol.asyncDispose]() {
      for (const server of exposed) server.close()
      for (const resolver of resolvers) resolver.close()
      ip('netns', 'del', name)
      rmSync(`/etc/netns/${name}`, { recursive: true, force: true })
      await run('ip', ['link', 'del', outer]).catch(() => undefined)
    },
  }
}

const ip = (...args: readonly string[]): void => void execFileSync('ip', args, { stdio: 'pipe' })

/** Adds a network namespace and a veth pair, whose end in the namespace is `inner`. */
function addNamespace(inner: string): { readonly id: number; readonly name: string; readonly outer: string } {
  for (let attempt = 1; ; attempt++) {
    const id = randomInt(1, 250)
    const name = `chap-${id}-${randomInt(1e6)}`
    const outer = `chv${id}`
    ip('netns', 'add', name)
    try {
      ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner, 'netns', name)
      return { id, name, outer }
    } catch (error) {
      // Another test has a pair of this name.
      ip('netns', 'del', name)
      if (attempt === 50) throw error
    }
  }
}

/** Counts at the device, after the rules of the pod. */
function watcher(
  device: string,
  host: string,
  { ports, addresses }: { readonly ports: readonly number[]; readonly addresses: readonly string[] },
): string {
  const toUs = [
    ...(ports.length === 0 ? [] : [`ip daddr ${host} tcp dport { ${ports.join(', ')} } accept`]),
    ...addresses.map((one) => `ip daddr ${one.split(' ')[0]} meta l4proto ${one.split(' ')[1]} accept`),
  ]
  return [
    'table netdev watch',
    'delete table netdev watch',
    'table netdev watch {',
    '  counter packets_left { }',
    '  set left4 { typeof ip daddr . ip protocol; flags dynamic; size 1000; }',
    '  set left6 { typeof ip6 daddr . ip6 nexthdr; flags dynamic; size 1000; }',
    '  chain out {',
    `    type filter hook egress device "${device}" priority 0; policy accept;`,
    ...['meta protocol arp accept', ...toUs, 'tcp sport 15021 accept'].map((rule) => `    ${rule}`),
    // Neighbour discovery and group membership packets of the kernel.
    '    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, mld2-listener-report } accept',
    '    counter name packets_left',
    '    meta protocol ip update @left4 { ip daddr . ip protocol }',
    '    meta protocol ip6 update @left6 { ip6 daddr . ip6 nexthdr }',
    '  }',
    '}',
    '',
  ].join('\n')
}

function readWatcher(text: string) {
  type Element = { concat: readonly unknown[] }
  type Entry = { counter?: { packets: number }; set?: { elem?: readonly Element[] } }
  const { nftables } = JSON.parse(text) as { nftables: readonly Entry[] }
  return {
    packets: nftables.reduce((sum, { counter }) => sum + (counter?.packets ?? 0), 0),
    destinations: nftables.flatMap(({ set }) => (set?.elem ?? []).map(({ concat }) => concat.join(' '))),
  }
}
