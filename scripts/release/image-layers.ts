import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { ARCHITECTURES, type Architecture } from './architecture.ts'
import { contentOf, type DebianPackage } from './debian-packages.ts'
import { addArchive, addFolder, type FileTree, textFile } from './file-tree.ts'

/**
 * Debian packages of the image: a library that Node needs, the programs that set the capture rules, and a shell for the
 * container that sets the capture rules under gVisor.
 */
export const IMAGE_PACKAGES = ['libstdc++6', 'nftables', 'iptables', 'busybox'] as const

/**
 * Programs of busybox in the image. The container that sets the capture rules under gVisor runs `sh`, `head` and `tr`.
 * Users can read files with `cat`.
 */
const BUSYBOX_PROGRAMS = ['sh', 'head', 'tr', 'cat']

/** User, environment and entry point of the image. */
export const IMAGE_RUN = {
  User: '65532:65532',
  Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
  Entrypoint: ['node', '--disable-sigusr1', '/app/bin/cli.js'],
} as const

/** Folders that Debian has moved into /usr. Packages of Debian 12 still contain files at both paths. */
const MERGED = ['bin', 'sbin', 'lib', 'lib64']

/** Matches files that an image does not need. Copyright files are kept. */
const LEFT_OUT =
  /^usr\/share\/(?:man|info|locale|lintian|bug|bash-completion)\/|^usr\/share\/doc\/.*\/(?!copyright$)[^/]+$/

/**
 * `struct vfs_cap_data` (linux/capability.h) of `cap_net_admin+ep`: revision 2 with the effective bit, then the
 * permitted and inheritable sets as two pairs of little-endian words. CAP_NET_ADMIN is bit 12.
 */
const NET_ADMIN = `\x01\x00\x00\x02\x00\x10${'\x00'.repeat(14)}`

const USERS = [
  'root:x:0:0:root:/:/usr/sbin/nologin',
  'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
  'chaperone:x:65532:65532:chaperone:/nonexistent:/usr/sbin/nologin',
]

/**
 * Returns the layer of Debian's packages, with the merged /usr, the users, and a copy of nft that has the file
 * capability.
 */
export async function debianTree(packages: readonly DebianPackage[], osRelease: string): Promise<FileTree> {
  const tree: FileTree = new Map()
  for (const name of MERGED) tree.set(name, { type: 'symlink', target: `usr/${name}` })
  for (const name of packages) await addArchive(tree, contentOf(name), placeOf)
  for (const name of packages) tree.set(`var/lib/dpkg/status.d/${name.name}`, textFile(name.control))
  const nft = tree.get('usr/sbin/nft')
  if (nft?.type !== 'file') throw new Error('the package nftables has no usr/sbin/nft')
  tree.set('usr/local/sbin/nft-cap', { ...nft, mode: 0o755, capabilities: NET_ADMIN })
  for (const name of BUSYBOX_PROGRAMS) tree.set(`usr/bin/${name}`, { type: 'symlink', target: 'busybox' })
  tree.set('etc/passwd', textFile(`${USERS.join('\n')}\n`))
  tree.set('etc/group', textFile('root:x:0:\nnogroup:x:65534:\nchaperone:x:65532:\n'))
  tree.set('etc/os-release', textFile(osRelease))
  tree.set('tmp', { type: 'directory', mode: 0o1777 })
  return tree
}

function placeOf(path: string): string | null {
  if (LEFT_OUT.test(path) || MERGED.includes(path)) return null
  const [first = ''] = path.split('/')
  return MERGED.includes(first) ? `usr/${path}` : path
}

/** Returns the layer of Node, from the npm package with its binary. */
export async function nodeTree(npmPackage: string): Promise<FileTree> {
  const tree: FileTree = new Map()
  const places = new Map([
    ['package/bin/node', 'usr/local/bin/node'],
    ['package/LICENSE', 'usr/local/share/doc/node/LICENSE'],
  ])
  await addArchive(tree, gunzipSync(readFileSync(npmPackage)), (path) => places.get(path) ?? null)
  if (!tree.has('usr/local/bin/node')) throw new Error(`${npmPackage} has no bin/node`)
  return tree
}

/** Returns the layer of the programs, from the `image` folder of the build. */
export function programTree(image: string): FileTree {
  const tree: FileTree = new Map()
  for (const name of readdirSync(image)) addFolder(tree, join(image, name), name)
  return tree
}

/** Returns the architecture of this machine. Throws if there is no released image for this architecture. */
export function ownArchitecture(): Architecture {
  const own = ARCHITECTURES.find((name) => name === (process.arch === 'x64' ? 'amd64' : process.arch))
  if (own === undefined)
    throw new Error(
      `The image is built on ${ARCHITECTURES.join(' or ')}, and this machine is ${process.arch}.`,
    )
  return own
}
