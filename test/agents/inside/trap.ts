import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { decode, encode } from 'dns-packet'

/** One connection that went around the gateway. */
export type Around = { readonly cell: string; readonly host: string; readonly program: string }

export type Trap = {
  readonly around: readonly Around[]
  /** Datagrams to other machines, and connections whose process was gone before it was found. */
  packetsAround(): number
  close(): void
}

const RULES = (port: number) => `table inet trap {
  counter away { }
  chain streams {
    type nat hook output priority -100; policy accept;
    ip daddr != 127.0.0.0/8 meta l4proto tcp counter name away redirect to :${port}
  }
  chain others {
    type filter hook output priority 0; policy accept;
    ip daddr != 127.0.0.0/8 meta l4proto != tcp counter name away drop
  }
}
`

/**
 * Answers every name by an address, and every connection to another machine, in a network namespace whose loopback device
 * is the way to all addresses.
 */
export async function startTrap(): Promise<Trap> {
  const hosts = new Map<string, string>()
  const around: Around[] = []
  const names = createSocket('udp4')
  names.on('message', (bytes, from) => {
    const query = decode(bytes)
    const [question] = query.questions ?? []
    const address = question?.type === 'A' ? addressOf(question.name, hosts) : null
    const answers =
      address === null ? [] : [{ type: 'A' as const, name: question?.name ?? '', ttl: 60, data: address }]
    const reply = { type: 'response' as const, flags: 0x180, questions: query.questions ?? [], answers }
    names.send(encode({ ...reply, ...(query.id === undefined ? {} : { id: query.id }) }), from.port)
  })
  names.bind(53, '127.0.0.1')
  await once(names, 'listening')
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    const owner = ownerOf(socket.remotePort ?? 0)
    socket.once('data', (bytes) => {
      around.push({ ...owner, host: hostIn(bytes, hosts) })
      socket.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  execFileSync('nft', ['-f', '-'], { input: RULES(address.port) })
  return {
    around,
    packetsAround: () => {
      const text = execFileSync('nft', ['list', 'counter', 'inet', 'trap', 'away'], { encoding: 'utf8' })
      return Number(/packets (\d+)/.exec(text)?.[1])
    },
    close: () => {
      server.close()
      names.close()
    },
  }
}

/** Separate for each name, so that connections are distinguishable. */
function addressOf(name: string, hosts: Map<string, string>): string {
  const known = hosts.get(name)
  if (known !== undefined) return known
  const number = hosts.size + 1
  const address = `198.18.${number >> 8}.${number & 255}`
  hosts.set(name, address)
  return address
}

/** The first name of which the bytes hold the whole text: TLS sends its server name in the clear, HTTP its host. */
function hostIn(bytes: Buffer, hosts: ReadonlyMap<string, string>): string {
  return [...hosts.keys()].find((name) => bytes.includes(name)) ?? 'an address without a name'
}

/** The process at the other end of a connection over loopback. */
function ownerOf(port: number): Omit<Around, 'host'> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  for (const family of ['tcp', 'tcp6']) {
    const lines = readFileSync(`/proc/net/${family}`, 'utf8').split('\n')
    const inode = lines
      .find((line) => line.trim().split(/\s+/)[1]?.endsWith(`:${hex}`))
      ?.trim()
      .split(/\s+/)[9]
    const pid = inode === undefined ? undefined : processWith(`socket:[${inode}]`)
    if (pid !== undefined)
      return { cell: cellOfProcess(pid), program: readFileSync(`/proc/${pid}/comm`, 'utf8').trim() }
  }
  return { cell: 'unknown', program: 'unknown' }
}

function processWith(link: string): string | undefined {
  return readdirSync('/proc').find((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === link)
    } catch {
      return false
    }
  })
}

function cellOfProcess(pid: string): string {
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  return environment.find((line) => line.startsWith('CELL='))?.slice(5) ?? 'unknown'
}
