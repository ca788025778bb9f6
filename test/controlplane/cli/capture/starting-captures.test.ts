import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  announceCapture,
  startingCapturesMasked,
} from '../../../../controlplane/cli/capture/starting-captures.ts'
import { stateHome } from '../../../../controlplane/cli/state/state-home.ts'
import { protectManifests } from '../../../../controlplane/cli/up/protect-manifests.ts'

let root: string
let env: NodeJS.ProcessEnv
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'chaperone-starting-'))
  env = { XDG_STATE_HOME: join(root, 'state'), HOME: root }
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const files = () => readdirSync(stateHome(env)).filter((name) => name.startsWith('capture-'))

describe.skipIf(process.platform !== 'linux')('a start of an installation', () => {
  test('waits for the masks of captures that have announced themselves', async () => {
    const capture = announceCapture(env, join(root, 'trust'))
    expect(await startingCapturesMasked(env, 50)).toBe(false)
    let isProtected = false
    const started = protectManifests({ env, manifests: root, isTrusted: false, warn: () => undefined })
    const waiting = started.then(() => {
      isProtected = true
    })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(isProtected).toBe(false)
    capture[Symbol.dispose]()
    expect(files()).toEqual([])
    writeFileSync(join(root, 'note'), '')
    await waiting
  })

  test('does not wait for a capture whose command has its masks, nor for one whose process has ended', async () => {
    using _masked = announceCapture(env, '/proc')
    expect(await startingCapturesMasked(env, 0)).toBe(true)
    const { pid } = spawnSync('true')
    const stale = { pid, started: 'boot:1', point: join(root, 'trust') }
    const file = join(stateHome(env), `capture-${pid}.json`)
    writeFileSync(file, JSON.stringify(stale), { mode: 0o600 })
    expect(await startingCapturesMasked(env, 0)).toBe(true)
    expect(files()).toEqual([`capture-${process.pid}.json`])
  })
})
