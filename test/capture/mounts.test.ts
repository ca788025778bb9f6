import { describe, expect, test } from 'vitest'
import {
  aliasesOf,
  otherProcessTables,
  parseMounts,
  unixSockets,
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
  ].join('\n'),
)

describe('the paths at which a folder is seen', () => {
  test.each([
    ['/home/ada/.local/data', ['/home/ada/.local/data', '/mnt/disk/@home/ada/.local/data']],
    ['/home/ada/my work/x', ['/home/ada/my work/x', '/mnt/disk/@home/ada/my work/x', '/srv/my work/x']],
    ['/srv/my work', ['/srv/my work', '/home/ada/my work', '/mnt/disk/@home/ada/my work']],
    ['/var/data', ['/var/data']],
    ['/home', ['/home', '/mnt/disk/@home']],
  ])('%s', (path, paths) => {
    expect([...aliasesOf(path, mounts)].sort()).toEqual([...paths].sort())
  })
})

test('process tables beside that of /proc', () => {
  expect(otherProcessTables(mounts)).toEqual(['/jail/proc'])
})

test('sockets with a path, each once, without those of the abstract namespace', () => {
  const text = [
    'Num       RefCount Protocol Flags    Type St Inode Path',
    '0000000000000000: 00000002 00000000 00010000 0001 01 20001 /run/user/1000/bus',
    '0000000000000000: 00000003 00000000 00000000 0001 03 20002 /run/user/1000/bus',
    '0000000000000000: 00000002 00000000 00010000 0001 01   303 /tmp/with blank/a.sock',
    '0000000000000000: 00000002 00000000 00010000 0001 01 20004 @abstract',
    '0000000000000000: 00000003 00000000 00000000 0001 03 20005',
  ].join('\n')
  expect(unixSockets(text)).toEqual(['/run/user/1000/bus', '/tmp/with blank/a.sock'])
})
