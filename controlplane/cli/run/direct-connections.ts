import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { outgoingConnections, SOCKET_TABLES } from '../../../core/capture/socket-table.ts'

/** A TCP connection that a command opened and that bypasses the gateway. */
export type DirectConnection = {
  readonly program: string
  readonly pid: number
  readonly address: string
  readonly port: number
}

export type ConnectionWatch = { close(): void }

const INTERVAL_MS = 100

/**
 * Calls `found` once, for the first connection of the process or its descendants to a non-loopback address. Works on
 * Linux only. The function samples connections every 100 ms, so it may miss a shorter connection.
 */
export function watchDirectConnections(
  pid: number,
  found: (connection: DirectConnection) => void,
): ConnectionWatch {
  if (process.platform !== 'linux') return { close: () => undefined }
  let known: ReadonlySet<string> = new Set()
  const timer = setInterval(() => {
    const connections = outgoingConnections(SOCKET_TABLES.map(textOf))
    const isNew = connections.some(({ inode }) => !known.has(inode))
    known = new Set(connections.map(({ inode }) => inode))
    const direct = isNew ? connectionOf(pid, connections) : undefined
    if (direct === undefined) return
    clearInterval(timer)
    found(direct)
  }, INTERVAL_MS)
  timer.unref()
  return { close: () => clearInterval(timer) }
}

function connectionOf(
  root: number,
  connections: ReturnType<typeof outgoingConnections>,
): DirectConnection | undefined {
  for (const pid of [String(root), ...descendantsOf(String(root))]) {
    const inodes = socketsOf(pid)
    const own = connections.find(({ inode }) => inodes.has(inode))
    if (own === undefined) continue
    const program = textOf(`/proc/${pid}/comm`).trim()
    return { program, pid: Number(pid), address: own.address, port: own.port }
  }
  return undefined
}

function descendantsOf(pid: string): readonly string[] {
  const children = namesIn(`/proc/${pid}/task`).flatMap((thread) =>
    textOf(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean),
  )
  return children.flatMap((child) => [child, ...descendantsOf(child)])
}

function socketsOf(pid: string): ReadonlySet<string> {
  const links = namesIn(`/proc/${pid}/fd`).map((name) =>
    unlessGone(() => readlinkSync(`/proc/${pid}/fd/${name}`), ''),
  )
  return new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []))
}

function namesIn(folder: string): readonly string[] {
  return unlessGone(() => readdirSync(folder), [])
}

function textOf(file: string): string {
  return unlessGone(() => readFileSync(file, 'latin1'), '')
}

/** Returns the result of `read`, or `otherwise` when the process has ended or belongs to another user. */
function unlessGone<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof Error && 'code' in error) return otherwise
    throw error
  }
}
