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
  /** Absolute; looked up again behind the covers. */
  readonly cwd: string
  /** The folder with certificates, made read-only. */
  readonly trustDir: string
  /** Paths that do not exist for the command. */
  readonly covers: readonly string[]
  /** The first process of the namespace, as this user and without rights over it. */
  readonly command: readonly string[]
}

/**
 * One command line that makes namespaces for mounts, processes and System V IPC, covers what the command must not reach,
 * and then becomes `command`. Runs with rights over the network namespace; the command has none, and covers of a
 * namespace that belongs to a parent cannot be removed from below.
 */
export function isolationCommand(input: IsolationInput): NamespaceCommand {
  const { uid, gid, cwd, trustDir, covers, command } = input
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
    String(covers.length),
    ...covers,
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
 * $1 working directory, $2 trust folder, $3 number of covers, the covers, then the command. Sockets of other programs may
 * be removed at any time, and need no cover then. A working directory is a
 * reference that a mount does not cover, so it is looked up again. Terminals show what is typed there: the command has new ones
 * and keeps the one that it was started in. Root without capabilities still owns block devices
 * and kernel settings.
 */
const SCRIPT = `
fail() { echo "chaperone: the command cannot be isolated: $1" >&2; exit ${NAMESPACE_FAILED}; }
cwd=$1; trust=$2; count=$3; shift 3
mount -t proc proc /proc || fail "the kernel does not allow a /proc of its own here (some containers do not)"
mount --bind "$trust" "$trust" && mount -o remount,bind,ro,nosuid,nodev "$trust" || fail "$trust cannot be made read-only"
while [ "$count" -gt 0 ]; do
  if [ -d "$1" ]; then error=$(mount -t tmpfs -o ro,size=4k,mode=000 ${MASK_SOURCE} "$1" 2>&1)
  elif [ -e "$1" ]; then error=$(mount --bind /dev/null "$1" 2>&1); fi || [ ! -e "$1" ] || fail "$1 cannot be covered: $error"
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
  if [ -r "$device" ] || [ -w "$device" ]; then mount --bind /dev/null "$device" || fail "$device cannot be covered"; fi
done
if [ "$1" = setpriv ]; then
  for device in $(find /dev -type b 2>/dev/null); do mount --bind /dev/null "$device" || fail "$device cannot be covered"; done
  for dir in /proc/sys /proc/sysrq-trigger /sys /sys/fs/cgroup; do
    if [ -e "$dir" ]; then mount --bind "$dir" "$dir" && mount -o remount,bind,ro "$dir" || fail "$dir cannot be made read-only"; fi
  done
fi
cd / && cd "$cwd" 2>/dev/null || fail "the working directory $cwd is in a folder that the command must not see: start it in another one"
exec "$@"
`

/**
 * Where daemons have their sockets. The table of sockets leaves out those of other network namespaces, such as a container
 * daemon without root has, and paths that were given relative to a folder, or changed since.
 */
const SOCKET_FOLDERS = ['/run', '/tmp/.X11-unix']
const MAX_ENTRIES = 100_000
/** File systems whose server may hang, and every reader of theirs with it. */
const REMOTE = /^(fuse|nfs|cifs|smb|9p|autofs|ceph|afs)/

/** Every path at which the folders can be reached, other process tables, terminals, message queues, and the Unix sockets of this machine. */
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

/** A program that bound a relative path is mostly still in that folder. */
function socketsIn(folders: readonly string[], names: readonly string[]): readonly string[] {
  if (folders.length * names.length > MAX_ENTRIES) {
    throw new ChaperoneError('conflict', {
      detail: `Running programs have bound ${names.length} Unix sockets by relative paths, too many to find: end those programs, and start the command again.`,
    })
  }
  return folders.flatMap((folder) => names.map((name) => join(folder, name)).filter(isSocket))
}

/** Working directories of the processes that this user may look at, without those on file systems in `left`. */
function workingFolders(left: ReadonlySet<string>): readonly string[] {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const folders = new Set(processes.flatMap((id) => linkOf(`/proc/${id}/cwd`) ?? []))
  const isLeft = (folder: string) =>
    [...left].some((point) => folder === point || folder.startsWith(`${point}/`))
  return [...folders].filter((folder) => !isLeft(folder))
}

/** Null for a process of another user, or one that has ended. */
function linkOf(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null
    throw error
  }
}

/** The sockets in these folders and in all folders below them but those left out, without following links. */
function socketsBelow(folders: readonly string[], left: ReadonlySet<string>): readonly string[] {
  const found: string[] = []
  const waiting = [...folders]
  let seen = 0
  for (let folder = waiting.shift(); folder !== undefined && seen < MAX_ENTRIES; folder = waiting.shift()) {
    const entries = entriesOf(folder)
    const pathOf = ({ name }: Dirent) => join(folder, name)
    found.push(...entries.filter((entry) => entry.isSocket()).map(pathOf))
    const inner = entries.filter((entry) => entry.isDirectory()).map(pathOf)
    waiting.push(...inner.filter((path) => !left.has(path)))
    seen += entries.length
  }
  return found
}

/** None for a folder that this user cannot read, or that is gone. */
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

/** Throws `conflict` when the working directory would be covered. */
export function assertNotMasked(cwd: string, folders: readonly string[]): void {
  const covering = folders.find((folder) => cwd === folder || cwd.startsWith(`${folder}/`))
  if (covering === undefined) return
  throw new ChaperoneError('conflict', {
    detail: `The working directory ${cwd} is in ${covering}, which a captured command does not see. Start the command in another folder.`,
  })
}

const CLOSE_ON_EXEC = 0o2000000

/** Closes what a parent left open: a descriptor of a file in a covered folder reads it still. Node's own are closed on exec. */
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
    // The one that listed the folder is closed by now.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}
