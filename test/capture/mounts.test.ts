import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { maskedPaths } from '../../controlplane/cli/capture/isolation.ts'
import {
  hasMask,
  mountAliases,
  mqueueMounts,
  otherDevptsMounts,
  otherProcMounts,
  parseMounts,
  unixSocketPaths,
} from '../../controlplane/cli/capture/mounts.ts'

const mounts = parseMounts(
  [
    '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
    '23 22 0:5 / /proc rw - proc proc rw',
    '24 22 0:40 /@home /home rw - btrfs /dev/sdb rw',
    '25 22 0:40 / /mnt/disk rw - btrfs /dev/sdb rw',
    '26 22 0:40 /@home/ada/my\\040work /srv/my\\040work rw - btrfs /dev/sdb rw',
    '27 22 8:1 /home /other rw - ext4 /dev/sda1 rw',
    '28 22 0:5 / /jail/proc rw - proc proc rw',
    '29 23 0:6 / /proc/sys/fs/binfmt_misc rw - binfmt_misc none rw',
    '30 22 0:40 /@home/adam /adam rw - btrfs /dev/sdb rw',
    '31 22 0:7 / /dev/pts rw - devpts devpts rw',
    '32 22 0:7 / /jail/dev/pts rw - devpts devpts rw',
    '33 22 0:7 /ptmx /dev/ptmx rw - devpts devpts rw',
    '34 22 0:7 /0 /dev/console rw - devpts devpts rw',
    '35 22 0:8 / /dev/mqueue rw - mqueue mqueue rw',
  ].join('\n'),
)

describe('the paths of a folder', () => {
  test.each([
    ['/home/ada/.local/data', ['/home/ada/.local/data', '/mnt/disk/@home/ada/.local/data']],
    ['/home/ada/my work/x', ['/home/ada/my work/x', '/mnt/disk/@home/ada/my work/x', '/srv/my work/x']],
    ['/srv/my work', ['/srv/my work', '/home/ada/my work', '/mnt/disk/@home/ada/my work']],
    ['/var/data', ['/var/data']],
    ['/home', ['/home', '/mnt/disk/@home']],
  ])('%s', (path, paths) => {
    expect([...mountAliases(path, mounts)].sort()).toEqual([...paths].sort())
  })
})

test('mounts of proc besides /proc', () => {
  expect(otherProcMounts(mounts)).toEqual(['/jail/proc'])
})

test('message queues of the IPC namespace of the machine', () => {
  expect(mqueueMounts(mounts)).toEqual(['/dev/mqueue'])
})

test('mounts of devpts besides /dev/pts', () => {
  expect(otherDevptsMounts(mounts)).toEqual(['/jail/dev/pts', '/dev/console'])
})

test.each([
  ['a mask', '35 22 0:9 / /home/ada/x ro - tmpfs chaperone ro,size=4k', true],
  ['a mask with optional fields', '35 22 0:9 / /home/ada/x ro shared:3 master:1 - tmpfs chaperone ro', true],
  ['another file system', '35 22 0:9 / /x ro - tmpfs tmpfs ro', false],
  ['a folder of the same name', '35 22 0:9 / /chaperone ro - ext4 /dev/sda2 ro', false],
  [
    'a folder with the name of a mask',
    '35 22 0:9 / /x\\040-\\040tmpfs\\040chaperone ro - ext4 /dev/sda2 ro',
    false,
  ],
])('recognizes a captured command by %s: %#', (_what, line, isMasked) => {
  expect(hasMask([...mounts, ...parseMounts(line)])).toBe(isMasked)
})

test('absolute socket paths without duplicates and without abstract sockets', () => {
  const text = [
    'Num       RefCount Protocol Flags    Type St Inode Path',
    '0000000000000000: 00000002 00000000 00010000 0001 01 20001 /run/user/1000/bus',
    '0000000000000000: 00000003 00000000 00000000 0001 03 20002 /run/user/1000/bus',
    '0000000000000000: 00000002 00000000 00010000 0001 01   303 /tmp/with blank/a.sock',
    '0000000000000000: 00000002 00000000 00010000 0001 01 20004 @abstract',
    '0000000000000000: 00000003 00000000 00000000 0001 03 20005',
  ].join('\n')
  expect(unixSocketPaths(text)).toEqual(['/run/user/1000/bus', '/tmp/with blank/a.sock'])
})

/** Binds a relative path, as a daemon may, for which /proc/net/unix has no absolute path. */
const DAEMON = `
import os, socket, sys
os.chdir(sys.argv[1])
socket.socket(socket.AF_UNIX).bind("daemon.sock")`

test('a socket without an absolute path in /proc/net/unix', () => {
  const dir = mkdtempSync(join(tmpdir(), 'chaperone-sockets-'))
  const deep = join(dir, 'user', '1000')
  mkdirSync(deep, { recursive: true })
  symlinkSync(dir, join(dir, 'loop'))
  execFileSync('/usr/bin/python3', ['-c', DAEMON, deep])
  const socket = join(deep, 'daemon.sock')
  expect(unixSocketPaths(readFileSync('/proc/net/unix', 'utf8'))).not.toContain(socket)
  expect(maskedPaths([], [dir, join(dir, 'absent')])).toContain(socket)
  rmSync(dir, { recursive: true })
})

test('a socket outside these folders that a running program bound relative to its working directory', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'chaperone-relative-'))
  mkdirSync(join(dir, 'deep'))
  const script = `
import os, socket, sys
os.chdir(sys.argv[1])
kept = [socket.socket(socket.AF_UNIX) for _ in range(3)]
for each, name in zip(kept, ["daemon.sock", "deep/other.sock", "./with blank.sock"]): each.bind(name)
print("ready", flush=True)
sys.stdin.read()`
  const daemon = spawn('/usr/bin/python3', ['-c', script, dir], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    await once(daemon.stdout, 'data')
    const names = ['daemon.sock', 'deep/other.sock', 'with blank.sock']
    expect(maskedPaths([], [])).toEqual(expect.arrayContaining(names.map((name) => join(dir, name))))
  } finally {
    daemon.stdin.end()
    await once(daemon, 'exit')
    rmSync(dir, { recursive: true })
  }
})
