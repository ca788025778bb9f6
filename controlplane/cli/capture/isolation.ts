import { closeSync, type Dirent, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import {
  MASK_SOURCE,
  mountAliases,
  mqueueMounts,
  otherDevptsMounts,
  otherProcMounts,
  parseMounts,
  relativeSocketPaths,
  unixSocketPaths,
} from './mounts.ts'
import { NAMESPACE_FAILED, type NamespaceCommand } from './namespace.ts'
import { seccompCommand } from './seccomp-filter.ts'

export type IsolationInput = {
  readonly uid: number
  readonly gid: number
  /**
   * Absolute path of the working directory. The shell script that starts the command resolves the path again after it
   * has mounted over the paths in `masks`.
   */
  readonly cwd: string
  /**
   * Folder with the certificates for the command. The shell script that starts the command remounts the folder
   * read-only.
   */
  readonly trustDir: string
  /**
   * Paths that the command must not reach. The shell script hides the content of each path by a mount over the path (a
   * mask).
   */
  readonly masks: readonly string[]
  /**
   * Command line of the first process of the pid namespace. This process runs as this user and without capabilities.
   */
  readonly command: readonly string[]
}

/**
 * Returns a command line that creates mount, pid and IPC namespaces, masks paths, and executes `command`. The command
 * line itself requires capabilities in the network namespace; `command` runs without them. Mounts inherited from a
 * more privileged mount namespace are locked (mount_namespaces(7)), so `command` cannot unmount the masks.
 */
export function isolationCommand(input: IsolationInput): NamespaceCommand {
  const { uid, gid, cwd, trustDir, masks, command } = input
  const drop =
    uid === 0
      ? ['setpriv', '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--ambient-caps=-all', '--']
      : ['unshare', '--user', `--map-user=${uid}`, `--map-group=${gid}`, '--']
  const script = [
    'sh',
    '-c',
    SCRIPT,
    'chaperone',
    cwd,
    trustDir,
    String(masks.length),
    ...masks,
    ...drop,
    ...seccompCommand(),
    ...command,
  ]
  return {
    program: 'unshare',
    args: ['--mount', '--pid', '--ipc', '--fork', '--kill-child', '--', ...script],
  }
}

/**
 * Shell script with the arguments: $1 working directory, $2 trust folder, $3 number of masks, the masks, then the
 * command. The script skips a path that no longer exists, such as a removed socket. The script resolves the working
 * directory again, because access through a directory that was opened before bypasses the masks. The script mounts a
 * new devpts, because the command could read the input of the user's other terminals through the inherited devpts;
 * the command keeps its own terminal. For root, the script also masks block devices and kernel settings, because root
 * owns them even without capabilities.
 */
const SCRIPT = `
fail() { echo "chaperone: the command cannot be isolated: $1" >&2; exit ${NAMESPACE_FAILED}; }
cwd=$1; trust=$2; count=$3; shift 3
mount -t proc proc /proc || fail "the kernel does not allow mounting a new /proc here (some containers forbid it)"
while [ "$count" -gt 0 ]; do
  if [ -d "$1" ]; then error=$(mount -t tmpfs -o ro,size=4k,mode=000 ${MASK_SOURCE} "$1" 2>&1)
  elif [ -e "$1" ]; then error=$(mount --bind /dev/null "$1" 2>&1); fi || [ ! -e "$1" ] || fail "$1 cannot be masked: $error"
  shift; count=$((count - 1))
done
if [ -d /dev/shm ]; then mount -t tmpfs -o nosuid,nodev,mode=1777 ${MASK_SOURCE} /dev/shm || fail "/dev/shm cannot be replaced"; fi
if [ -d /dev/pts ]; then
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 ${MASK_SOURCE} /dev/pts 2>/dev/null ||
    mount -t tmpfs -o ro,size=4k,mode=000 ${MASK_SOURCE} /dev/pts || fail "/dev/pts cannot be replaced"
  if [ -c /dev/pts/ptmx ] && [ -c /dev/ptmx ] && [ ! -L /dev/ptmx ]; then mount --bind /dev/pts/ptmx /dev/ptmx || fail "/dev/ptmx cannot be replaced"; fi
fi
for device in /dev/console /dev/tty[0-9]* /dev/ttyS* /dev/vcs* /dev/input/* /dev/uinput /dev/uhid; do
  if [ ! -c "$device" ]; then continue; fi
  if [ -r "$device" ] || [ -w "$device" ]; then mount --bind /dev/null "$device" || fail "$device cannot be masked"; fi
done
if [ "$1" = setpriv ]; then
  for device in $(find /dev -type b 2>/dev/null); do mount --bind /dev/null "$device" || fail "$device cannot be masked"; done
  for dir in /proc/sys /proc/sysrq-trigger /sys /sys/fs/cgroup; do
    if [ -e "$dir" ]; then mount --bind "$dir" "$dir" && mount -o remount,bind,ro "$dir" || fail "$dir cannot be made read-only"; fi
  done
fi
mount --bind "$trust" "$trust" && mount -o remount,bind,ro,nosuid,nodev "$trust" || fail "$trust cannot be made read-only"
cd / && cd "$cwd" 2>/dev/null || fail "the working directory $cwd is in a masked folder. Start the command in another folder"
exec "$@"
`

/**
 * Folders that are searched for Unix sockets of daemons. /proc/net/unix is not sufficient. It does not list sockets
 * of other network namespaces, such as those of a rootless container daemon. It also lists relative paths without
 * their folder, and the former path of a renamed socket.
 */
const SOCKET_FOLDERS = ['/run', '/tmp/.X11-unix']
const MAX_ENTRIES = 100_000
/** Matches types of file systems that can block a reader when their server does not respond. */
const REMOTE = /^(fuse|nfs|cifs|smb|9p|autofs|ceph|afs)/

/**
 * Returns the paths to mask: every path under which the folders are accessible, further mounts of proc, devpts and
 * mqueue, and the Unix sockets of this machine.
 */
export function maskedPaths(
  folders: readonly string[],
  socketFolders: readonly string[] = SOCKET_FOLDERS,
): readonly string[] {
  const mounts = parseMounts(readFileSync('/proc/self/mountinfo', 'utf8'))
  const aliases = folders.flatMap((folder) => mountAliases(folder, mounts))
  const { remote = [], local = [] } = Object.groupBy(mounts, ({ type }) =>
    REMOTE.test(type) ? 'remote' : 'local',
  )
  const table = readFileSync('/proc/net/unix', 'utf8')
  const left = new Set(remote.map(({ point }) => point))
  const sockets = [
    ...unixSocketPaths(table),
    ...socketsIn(workingFolders(left), relativeSocketPaths(table)),
    ...local.map(({ point }) => point).filter(isSocket),
    ...socketsBelow(socketFolders, left),
  ]
  const others = [...otherProcMounts(mounts), ...otherDevptsMounts(mounts), ...mqueueMounts(mounts)]
  return [...new Set([...aliases, ...others, ...sockets])]
}

/**
 * Returns the existing sockets among `names`, which are relative paths of sockets. /proc/net/unix does not list the
 * folder of a relative path, so the function tries each of `folders`, the working directories of running processes.
 */
function socketsIn(folders: readonly string[], names: readonly string[]): readonly string[] {
  if (folders.length * names.length > MAX_ENTRIES) {
    throw new ChaperoneError('conflict', {
      detail: `The captured command must not reach the Unix sockets of other programs, but ${names.length} of these sockets have a relative path, which are too many to find and mask. List them with \`ss -xl\` (addresses without a leading / or @), stop their programs, and start the command again.`,
    })
  }
  return folders.flatMap((folder) => names.map((name) => join(folder, name)).filter(isSocket))
}

/**
 * Returns the working directories of the processes that this user can inspect. Skips directories on the file systems
 * that are mounted at the mount points in `left`.
 */
function workingFolders(left: ReadonlySet<string>): readonly string[] {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const folders = new Set(processes.flatMap((id) => linkOf(`/proc/${id}/cwd`) ?? []))
  const isLeft = (folder: string) =>
    [...left].some((point) => folder === point || folder.startsWith(`${point}/`))
  return [...folders].filter((folder) => !isLeft(folder))
}

/** Returns the target of a symbolic link; null for a link of another user's process, or of a process that has ended. */
function linkOf(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null
    throw error
  }
}

/**
 * Returns the sockets in these folders and their subfolders. Does not enter the mount points in `left` and does not
 * follow links.
 */
function socketsBelow(folders: readonly string[], left: ReadonlySet<string>): readonly string[] {
  const found: string[] = []
  const queue = [...folders]
  let seen = 0
  for (let folder = queue.shift(); folder !== undefined && seen < MAX_ENTRIES; folder = queue.shift()) {
    const entries = entriesOf(folder)
    const pathOf = ({ name }: Dirent) => join(folder, name)
    found.push(...entries.filter((entry) => entry.isSocket()).map(pathOf))
    const inner = entries.filter((entry) => entry.isDirectory()).map(pathOf)
    queue.push(...inner.filter((path) => !left.has(path)))
    seen += entries.length
  }
  return found
}

/** Returns the entries of a folder; none for a folder that does not exist, or that this user cannot read. */
function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if (error instanceof Error && 'code' in error) return []
    throw error
  }
}

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket()
  } catch (error) {
    if (error instanceof Error && 'code' in error) return false
    throw error
  }
}

/** Throws `conflict` when the working directory would be masked. */
export function assertNotMasked(cwd: string, folders: readonly string[]): void {
  const mask = folders.find((folder) => cwd === folder || cwd.startsWith(`${folder}/`))
  if (mask === undefined) return
  throw new ChaperoneError('conflict', {
    detail: `The working directory ${cwd} is in ${mask}, which is masked for captured commands. Start the command in another folder.`,
  })
}

const CLOSE_ON_EXEC = 0o2000000

/**
 * Closes inherited file descriptors, which would give the command access to files in masked folders. Descriptors that
 * Node opened itself have the close-on-exec flag, so the kernel closes them.
 */
export function closeInheritedDescriptors(): void {
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name)
    if (descriptor > 2 && isInherited(descriptor)) closeSync(descriptor)
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0
  } catch (error) {
    // Node has already closed the descriptor with which `readdirSync` read the folder.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}
