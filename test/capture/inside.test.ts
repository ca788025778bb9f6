import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { AS_OTHER, moduleUrl, run, runAsOther } from './captured.ts'
import { noNamespaces } from './network.ts'
import { listen, startOutside } from './outside.ts'

const reason = noNamespaces()
const NESTED = ['unshare', '--user', '--map-root-user', '--net']

describe.skipIf(reason !== null)(
  `a captured command${reason === null ? '' : ` (skipped: ${reason})`}`,
  () => {
    test.each<readonly [string, readonly string[]]>([
      ['by itself', []],
      ['in another network', [...NESTED, '--']],
      ['in other mounts', [...NESTED, '--mount', '--']],
      ['without its masks', [...NESTED, '--mount', '--', 'sh', '-c', 'umount -a; exec "$@"', 'sh']],
      [
        'without /proc',
        [...NESTED, '--mount', '--', 'sh', '-c', 'mount -t tmpfs none /proc || exit 9; exec "$@"', 'sh'],
      ],
    ])('is detected by commands that must not run in it: %s', async (_what, around) => {
      const outside = await startOutside(1_000)
      const data = join(outside.dir, 'data')
      mkdirSync(join(data, 'gateway'), { recursive: true })
      const socket = await listen(join(data, 'gateway', 'capture.sock'))
      const file = join(outside.dir, 'refuse.mjs')
      writeFileSync(
        file,
        `import { refuseInsideCapture } from '${moduleUrl('capture/refuse-inside-capture.ts')}'
      try { refuseInsideCapture('it') } catch (error) { console.log(error.message); process.exit(7) }`,
      )
      const command = [...around, process.execPath, file]
      const [inside, beside] = await Promise.all([
        runAsOther({ outside, data, masked: data, command }),
        run(['setpriv', ...AS_OTHER, process.execPath, file], { cwd: '/' }),
      ])
      socket.close()
      outside.close()
      expect(inside).toMatchObject({ code: 7, stdout: expect.stringContaining('refused inside') })
      expect(beside).toMatchObject({ code: 0, stdout: '' })
    })
  },
)
