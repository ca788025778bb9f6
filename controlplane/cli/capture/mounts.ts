/** One line of /proc/PID/mountinfo, as far as it matters here. */
export type Mount = {
  /** `major:minor` of the file system. */
  readonly device: string
  /** The folder of the file system that is mounted. */
  readonly root: string
  readonly point: string
  readonly type: string
  /** What is mounted: a device, or any word. */
  readonly source: string
}

/** Reads /proc/PID/mountinfo (proc_pid_mountinfo(5)). */
export function parseMounts(text: string): readonly Mount[] {
  return text.split('\n').flatMap((line) => {
    const [left = '', right = ''] = line.split(' - ')
    const [, , device, root, point] = left.split(' ')
    const [type, source = ''] = right.split(' ')
    if (device === undefined || root === undefined || point === undefined || type === undefined) return []
    return [{ device, root: unescaped(root), point: unescaped(point), type, source: unescaped(source) }]
  })
}

/** Returns every path at which the mounts may show the folder, itself first: bind mounts, and file systems mounted twice. */
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

/** Mounts of other process tables than that of `/proc`: each shows the root folder of every process. */
export function otherProcMounts(mounts: readonly Mount[]): readonly string[] {
  return mounts
    .filter(({ type, point }) => type === 'proc' && point !== '/proc' && !isWithin(point, '/proc'))
    .map(({ point }) => point)
}

/** Mounts of terminals beside `/dev/pts`. `/dev/ptmx` alone opens only new ones. */
export function otherDevptsMounts(mounts: readonly Mount[]): readonly string[] {
  const own = ['/dev/pts', '/dev/ptmx']
  return mounts
    .filter(({ type, point }) => type === 'devpts' && !own.includes(point))
    .map(({ point }) => point)
}

/** Mounts of POSIX message queues: each shows those of the IPC namespace in which it was mounted. */
export function mqueueMounts(mounts: readonly Mount[]): readonly string[] {
  return mounts.filter(({ type }) => type === 'mqueue').map(({ point }) => point)
}

/** What the covers of a captured command are called in the table of mounts. */
export const MASK_SOURCE = 'chaperone'

/** Reports whether a folder is covered, as the data folder of a captured command is. */
export function hasMask(mounts: readonly Mount[]): boolean {
  return mounts.some(({ type, source }) => type === 'tmpfs' && source === MASK_SOURCE)
}

/** Returns the paths of the sockets in /proc/net/unix. Sockets of the abstract namespace belong to a network namespace. */
export function unixSocketPaths(text: string): readonly string[] {
  const paths = text.split('\n').flatMap((line) => /^[0-9a-f]+:(?:\s+\S+){6}\s(\/.*)$/i.exec(line)?.[1] ?? [])
  return [...new Set(paths)]
}

/** Returns the paths in /proc/net/unix that were given relative to a folder; a name that begins with `@` may be one. */
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

/** Blanks, tabs, line feeds and backslashes are octal. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_all, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  )
}
