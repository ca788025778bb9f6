import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'

/** Where a redirected connection was meant to go: canonical text of an address, and a port. */
export type Destination = { readonly address: string; readonly port: number }

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6']

/**
 * The destination that the client gave to connect(). Node cannot ask the kernel for SO_ORIGINAL_DST, but the
 * client's own socket is in the same network namespace, and the kernel's table of sockets shows it as its owner sees
 * it: with the destination from before the redirect. Null when it is not there, or not once: then nothing is known.
 */
export async function originalDestination(
  { remoteAddress, remotePort, localPort }: Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>,
  tables: readonly string[] = TABLES,
): Promise<Destination | null> {
  if (remoteAddress === undefined || remotePort === undefined) return null
  const texts = await Promise.all(tables.map((path) => readFile(path, 'latin1')))
  const from = plain(remoteAddress)
  const found = texts
    .flatMap((text) => socketsFrom(text, remotePort))
    .filter(({ local, remote }) => local === from && remote.port !== 0 && !isUs(remote, localPort))
  const [only] = found
  return only !== undefined && found.length === 1 ? only.remote : null
}

type Entry = { readonly local: string; readonly remote: Destination }

/** `sl local_address rem_address st …`, addresses as hex words in the machine's own byte order, ports as hex. */
function socketsFrom(text: string, port: number): readonly Entry[] {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return text.split('\n').flatMap((line) => {
    if (!line.includes(wanted)) return []
    const [, local = '', remote = ''] = line.trim().split(/\s+/)
    if (!local.endsWith(wanted)) return []
    const [address = '', remotePort = ''] = remote.split(':')
    const [own = ''] = local.split(':')
    return [
      {
        local: addressOf(own),
        remote: { address: addressOf(address), port: Number.parseInt(remotePort, 16) },
      },
    ]
  })
}

/** Somebody who calls the listener itself was not redirected, and our own end of the connection is no client. */
function isUs({ address, port }: Destination, localPort: number | undefined): boolean {
  return port === localPort && (address.startsWith('127.') || address === '::1')
}

function addressOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? []
  const bytes = words.flatMap((word) =>
    (word.match(/../g) ?? []).map((b) => Number.parseInt(b, 16)).reverse(),
  )
  if (bytes.length === 4) return bytes.join('.')
  const groups = Array.from({ length: 8 }, (_, i) =>
    (((bytes[i * 2] ?? 0) << 8) | (bytes[i * 2 + 1] ?? 0)).toString(16),
  )
  return plain(new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1))
}

/** One spelling per address: an IPv4 address on an IPv6 socket is an IPv4 address. */
function plain(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address) ?? []
  if (high === undefined || low === undefined) return address.toLowerCase()
  const value = (Number.parseInt(high, 16) << 16) | Number.parseInt(low, 16)
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.')
}
