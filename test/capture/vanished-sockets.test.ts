import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isolationCommand } from '../../controlplane/cli/capture/isolation.ts'
import { noNamespaces } from './network.ts'

const reason = noNamespaces()
let folder: string
let socket: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chaperone-vanished-'))
  socket = join(folder, 'socket')
  mkdirSync(join(folder, 'trust'))
  writeFileSync(socket, '')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Replaces `mount` when the socket is its target. */
function isolated(instead: string): SpawnSyncReturns<string> {
  const tool = join(folder, 'mount')
  writeFileSync(
    tool,
    `#!/bin/sh\nPATH=\${PATH#*:}\ncase "$*" in *" ${socket}") ${instead};; esac\nexec mount "$@"\n`,
  )
  chmodSync(tool, 0o755)
  const { program, args } = isolationCommand({
    ...{ uid: 0, gid: 0, cwd: '/', trustDir: join(folder, 'trust') },
    ...{ masks: [socket], command: ['echo', 'started'] },
  })
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` }
  return spawnSync(program, args, { env, encoding: 'utf8' })
}

describe.skipIf(reason !== null)('a socket of another program', () => {
  test('needs no mask when it was removed after it was listed', () => {
    expect(isolated(`rm ${socket}`)).toMatchObject({ status: 0, stdout: 'started\n', stderr: '' })
  })

  test('that cannot be masked ends the start with the reason', () => {
    const { status, stdout, stderr } = isolated('echo no such luck >&2; exit 32')
    expect([status, stdout]).toEqual([125, ''])
    expect(stderr).toContain(`${socket} cannot be masked: no such luck`)
  })
})
