import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasCommand } from '../support/has-command.ts'

/**
 * The loopback device is the way to every address; names are answered on it. /etc/resolv.conf may be a link, to which
 * nothing can be bound.
 */
const SCRIPT = `
set -e
ip link set lo up
ip route add local default dev lo
mount --bind "$1" "$(readlink -f /etc/resolv.conf)"
shift
exec "$@"
`

const REQUIRED = ['unshare', 'mount', 'ip', 'nft']

/** Throws an error that names the programs to install. */
function requirePrograms(): void {
  const missing = REQUIRED.filter((program) => !hasCommand(program))
  if (missing.length === 0) return
  throw new Error(
    `${missing.join(', ')} not found. The agents suite needs util-linux, mount, iproute2 and nftables; install these packages.`,
  )
}

/** Starts a command in a network namespace that has loopback only, and its own view of /etc/resolv.conf. Needs root. */
export function spawnInNamespace(command: readonly string[]): ChildProcess {
  requirePrograms()
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-namespace-'))
  const resolver = join(folder, 'resolv.conf')
  writeFileSync(resolver, 'nameserver 127.0.0.1\n')
  // Of its processes, too: all of them end with the command.
  const own = ['--net', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child']
  const child = spawn('unshare', [...own, '--', 'sh', '-c', SCRIPT, 'sh', resolver, ...command], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.once('exit', () => rmSync(folder, { recursive: true }))
  return child
}
