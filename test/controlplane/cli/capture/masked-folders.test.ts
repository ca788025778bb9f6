import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { maskedFolders } from '../../../../controlplane/cli/capture/masked-folders.ts'
import { ensureInstallationKey } from '../../../../controlplane/cli/client/installation-key.ts'
import { manifestFolders, recordManifestFolder } from '../../../../controlplane/cli/state/manifest-folders.ts'

let root: string
let env: NodeJS.ProcessEnv
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'chaperone-masked-'))
  env = { XDG_STATE_HOME: join(root, 'state'), HOME: root }
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function makeFolder(name: string): string {
  const dir = join(root, name)
  mkdirSync(dir, { recursive: true })
  return dir
}

test('the manifests folders of all installations of the user are masked, also of those that do not run', () => {
  const [first, second] = [makeFolder('first-manifests'), makeFolder('second-manifests')]
  recordManifestFolder(env, first)
  recordManifestFolder(env, second)
  expect(maskedFolders(env)).toEqual(expect.arrayContaining([first, second]))
})

test('the manifests folder of an installation that an earlier version started is masked while it runs', () => {
  const [data, manifests] = [makeFolder('data'), makeFolder('manifests')]
  ensureInstallationKey(env, data)
  const run = {
    ...{ pid: 1, base_url: 'http://127.0.0.1:1', gateway_url: null, gateway_port: null },
    ...{ ca_file: '', ca_bundle_file: '', manifests, started_at: '' },
  }
  writeFileSync(join(data, 'run.json'), JSON.stringify(run))
  expect(maskedFolders(env)).toEqual(expect.arrayContaining([data, manifests]))
})

test('a manifests folder that was removed leaves the list', () => {
  const [first, second] = [makeFolder('first-manifests'), makeFolder('second-manifests')]
  recordManifestFolder(env, first)
  rmSync(first, { recursive: true })
  recordManifestFolder(env, second)
  mkdirSync(first)
  expect(manifestFolders(env)).toEqual([second])
})
