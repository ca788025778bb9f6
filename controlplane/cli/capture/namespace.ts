import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'

/** Programs that capture requires. The value is the Linux package that contains the program. */
const TOOLS = {
  unshare: 'util-linux',
  mount: 'mount',
  ip: 'iproute2',
  nft: 'nftables',
  perl: 'perl',
} as const
/** Folders of administrative programs, which may be missing from a user's PATH. */
const ADMIN_PATH = '/usr/local/sbin:/usr/sbin:/sbin'

export type NamespaceCommand = { readonly program: string; readonly args: readonly string[] }

export type NamespaceInput = {
  readonly uid: number
  readonly rulesFile: string
  readonly resolvFile: string
  /**
   * Command line that runs in the network namespace with all capabilities there. This command line creates the other
   * namespaces of the governed command.
   */
  readonly command: readonly string[]
}

/** Returns the PATH with which the programs that create the namespace are found. */
export function toolPath(env: NodeJS.ProcessEnv): string {
  return `${env['PATH'] ?? ''}:${ADMIN_PATH}`
}

/**
 * Throws `conflict` when this machine does not support capture: on systems other than Linux, and when a required
 * program is missing.
 */
export function assertCaptureSupported(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): void {
  if (platform !== 'linux') {
    throw conflict(
      'Capture requires network namespaces, which only Linux has. Run the command without --capture; then clients that use the proxy variables are governed.',
    )
  }
  const missing = Object.entries(TOOLS).filter(([tool]) => !isInstalled(tool, env))
  if (missing.length === 0) return
  const packages = [...new Set(missing.map(([, name]) => name))].join(' ')
  const names = missing.map(([tool]) => tool).join(', ')
  throw conflict(
    `Capture requires ${names}, which were not found. Install ${packages}, for example: apt-get install ${packages}`,
  )
}

/**
 * Returns a command line that creates a network namespace with loopback, a device without a link, and the nftables
 * rules, and executes `command` in the namespace. For users other than root, the command line also creates a user
 * namespace, which the network namespace requires.
 */
export function namespaceCommand({ uid, rulesFile, resolvFile, command }: NamespaceInput): NamespaceCommand {
  const own = uid === 0 ? [] : ['--user', '--map-root-user']
  const script = ['sh', '-c', SCRIPT, 'chaperone', rulesFile, resolvFile, ...command]
  return { program: 'unshare', args: [...own, '--net', '--mount', '--', ...script] }
}

/** Exit code of the script when the namespace cannot be created. */
export const NAMESPACE_FAILED = 125

/**
 * Address of the name server in resolv.conf of the namespace. No host needs to have this address, because
 * the nftables rules redirect DNS packets before they leave the namespace.
 */
export const NAMESERVER = '198.19.255.53'

/**
 * Shell script with the arguments: $1 nftables rules, $2 resolv.conf, then the command. The script creates a network
 * device of type dummy or veth, because a kernel may support only one of these types. Resolvers with a Unix socket
 * would answer from outside the namespace, so the script masks the folders of their sockets. When /etc/resolv.conf is
 * a link into a masked folder, the script creates the target again.
 */
const SCRIPT = `
fail() { echo "chaperone: the network namespace cannot be created: $1" >&2; exit ${NAMESPACE_FAILED}; }
rules=$1; resolv=$2; shift 2
ip link set lo up || fail "ip cannot set a device up"
ip link add chaperone0 type dummy 2>/dev/null ||
  ip link add chaperone0 type veth peer name chaperone1 || fail "the kernel has neither dummy nor veth devices"
ip link set chaperone1 up 2>/dev/null
ip link set chaperone0 up || fail "ip cannot set a device up"
ip addr add 198.19.255.1/32 dev chaperone0 && ip route add default dev chaperone0 || fail "ip cannot set a route"
ip -6 addr add fdc0:ffee::1/128 dev chaperone0 nodad 2>/dev/null && ip -6 route add default dev chaperone0 2>/dev/null
nft -f "$rules" || fail "nft cannot load the rules (is the kernel module nf_tables available?)"
target=$(readlink -f /etc/resolv.conf)
for dir in /run/systemd/resolve /run/nscd /var/run/nscd; do
  if [ -d "$dir" ]; then mount -t tmpfs tmpfs "$dir" || fail "$dir cannot be masked"; fi
done
case $target in
  /run/systemd/resolve/*) cp "$resolv" "$target" || fail "$target cannot be written" ;;
  *) mount --bind "$resolv" "$target" || fail "$target cannot be replaced" ;;
esac
exec "$@"
`

function isInstalled(tool: string, env: NodeJS.ProcessEnv): boolean {
  return toolPath(env)
    .split(':')
    .some((dir) => dir !== '' && isExecutable(join(dir, tool)))
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch (error) {
    if (error instanceof Error) return false
    throw error
  }
}

function conflict(detail: string): ChaperoneError {
  return new ChaperoneError('conflict', { detail })
}
