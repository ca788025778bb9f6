import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bundledProgram } from '../../support/bundled-program.ts'
import { databasesFolder } from '../../support/memory-folder.ts'
import { PROGRAM_ENV } from '../../support/program-env.ts'

const MAIN = await bundledProgram('sidecar')

test.each(['SIGTERM', 'the end of the parent process'])(
  'a gateway whose log pipe is closed ends by %s',
  async (by) => {
    const folder = mkdtempSync(join(databasesFolder(), 'chaperone-stop-'))
    mkdirSync(join(folder, 'data'))
    writeFileSync(join(folder, 'token'), 'token')
    const child = fork(MAIN, {
      env: {
        ...PROGRAM_ENV,
        PORT: '0',
        // Nothing listens there, so the gateway writes log lines.
        CONTROL_PLANE_URL: 'http://127.0.0.1:9',
        GATEWAY_TOKEN_FILE: join(folder, 'token'),
        DATA_DIR: join(folder, 'data'),
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const gone = once(child, 'exit')
    try {
      await once(child, 'message')
      child.stdout?.destroy()
      child.stderr?.destroy()
      if (by === 'SIGTERM') child.kill('SIGTERM')
      else child.disconnect()
      expect(await gone).toEqual([0, null])
    } finally {
      child.kill('SIGKILL')
      await gone
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
