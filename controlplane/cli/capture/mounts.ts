/** One mount, from a line of /proc/PID/mountinfo. */
export type Mount = {
  /** Device number (`major:minor`) of the file system. */
  readonly device: string
  /** Path, within the file system, of the directory that is mounted. */
  readonly root: string
  readonly point: string
  readonly type: string
  /** Path of the mounted device, or an arbitrary name for a file system without a device. */
  readonly source: string
}

/** Parses the text of /proc/PID/mountinfo (proc_pid_mountinfo(5)). */
export function parseMounts(text: string): readonly Mount[] {
  return text.split('\n').flatMap((line) => {
    const [left = '', right = ''] = line.split(' - ')
    const [, , device, root, point] = left.split(' ')
    const [type, source = ''] = right.split(' ')
    if (device === undefined || root === undefined || point === undefined || type === undefined) return []
    return [{ device, root: unescaped(root), point: unescaped(point), type, source: unescaped(source) }]
  })
}

/**
 * Returns every path under which a folder is accessible: `path` first, then the paths through bind mounts and through
 * file systems that are mounted more than once.
 */
export function mountAliases(path: string, mounts: readonly Mount[]): readonly string[] {
  const own = mounts
    .filter(({ point }) => isWithin(path, point))
    .reduce<Mount | null>(
      (best, next) => (best !== null && best.point.length > next.point.length ? best : next),
      null,
    )
  if (own === null) return [path]
  const inside = join(own.root, path.slice(own.point === '/' ? 0 : own.point.length))
  const others = mounts
    .filter(({ device, root }) => device === own.device && isWithin(inside, root))
    .map(({ root, point }) => join(point, inside.slice(root === '/' ? 0 : root.length)))
  return [...new Set([path, ...others])]
}

/**
 * Returns the mount points of proc other than `/proc`. Each of these mounts gives access to the root folders of
 * processes (`/proc/PID/root`).
 */
export function otherProcMounts(mounts: readonly Mount[]): readonly string[] {
  return mounts
    .filter(({ type, point }) => type === 'proc' && point !== '/proc' && !isWithin(point, '/proc'))
    .map(({ point }) => point)
}

/**
 * Returns the mount points of devpts other than `/dev/pts`. Omits `/dev/ptmx`, because it only opens new terminals.
 */
export function otherDevptsMounts(mounts: readonly Mount[]): readonly string[] {
  const own = ['/dev/pts', '/dev/ptmx']
  return mounts
    .filter(({ type, point }) => type === 'devpts' && !own.includes(point))
    .map(({ point }) => point)
}

/**
 * Returns the mount points of mqueue. Each mount gives access to the POSIX message queues of the IPC namespace in
 * which it was mounted.
 */
export function mqueueMounts(mounts: readonly Mount[]): readonly string[] {
  return mounts.filter(({ type }) => type === 'mqueue').map(({ point }) => point)
}

/** Mount source, in /proc/PID/mountinfo, of the tmpfs mounts that mask folders for a captured command. */
export const MASK_SOURCE = 'chaperone'

/** Reports whether one of the mounts masks a folder, which is the case inside a captured command. */
export function hasMask(mounts: readonly Mount[]): boolean {
  return mounts.some(({ type, source }) => type === 'tmpfs' && source === MASK_SOURCE)
}

/** Reports whether one of the mounts masks the path or a parent folder of the path. */
export function isMasked(path: string, mounts: readonly Mount[]): boolean {
  return mounts.some((mount) => hasMask([mount]) && isWithin(path, mount.point))
}

/**
 * Returns the absolute socket paths in /proc/net/unix. Omits abstract sockets, because the network namespace isolates
 * them.
 */
export function unixSocketPaths(text: string): readonly string[] {
  const paths = text.split('\n').flatMap((line) => /^[0-9a-f]+:(?:\s+\S+){6}\s(\/.*)$/i.exec(line)?.[1] ?? [])
  return [...new Set(paths)]
}

/**
 * Returns the relative socket paths in /proc/net/unix, and all names that begin with `@`, because each may be an
 * abstract name or a relative path.
 */
export function relativeSocketPaths(text: string): readonly string[] {
  const lines = text.split('\n').slice(1)
  const paths = lines.flatMap((line) => /^[0-9a-f]+:(?:\s+\S+){6}\s([^/].*)$/i.exec(line)?.[1] ?? [])
  return [...new Set(paths)]
}

function isWithin(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`)
}

function join(folder: string, rest: string): string {
  const path = `${folder === '/' ? '' : folder}/${rest.replace(/^\/+/, '')}`
  return path.length > 1 ? path.replace(/\/$/, '') : path
}

/** Decodes the octal escapes of spaces, tabs, line feeds and backslashes in /proc/PID/mountinfo. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_all, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  )
}
