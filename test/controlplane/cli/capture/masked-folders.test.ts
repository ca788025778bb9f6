import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { maskedFolders } from '../../../../controlplane/cli/capture/masked-folders.ts'
import { ensureInstallationKey } from '../../../../controlplane/cli/client/installation-key.ts'
import { manifestFolders, recordManifestFolder } from '../../../../controlplane/cli/state/manifest-folders.ts'
import { stateHome } from '../../../../controlplane/cli/state/state-home.ts'
import { protectManifests } from '../../../../controlplane/cli/up/protect-manifests.ts'

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
  recordManifestFolder(env, first, { isTrusted: false })
  recordManifestFolder(env, second, { isTrusted: false })
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

test('a manifests folder that was moved or removed is not the one of the list until the user trusts it', () => {
  const manifests = makeFolder('infra/manifests')
  const record = (isTrusted = false) => recordManifestFolder(env, manifests, { isTrusted })
  expect([record(), record()]).toEqual([true, true])
  renameSync(join(root, 'infra'), join(root, 'infra2'))
  expect(manifestFolders(env)).toEqual([])
  makeFolder('infra/manifests')
  expect([record(), record()]).toEqual([false, false])
  expect(manifestFolders(env)).toEqual([manifests])
  expect([record(true), record()]).toEqual([true, true])
  rmSync(manifests, { recursive: true })
  makeFolder('infra/manifests')
  expect(record()).toBe(false)
})

test('a manifests folder below a link that replaced its parent is not the one of the list', () => {
  const manifests = makeFolder('infra/manifests')
  expect(recordManifestFolder(env, manifests, { isTrusted: false })).toBe(true)
  renameSync(join(root, 'infra'), join(root, 'infra2'))
  makeFolder('elsewhere/manifests')
  symlinkSync(join(root, 'elsewhere'), join(root, 'infra'))
  expect(recordManifestFolder(env, manifests, { isTrusted: false })).toBe(false)
})

test('the list of an earlier version, which has only paths, is read and gets the identity of each folder', () => {
  const [first, second] = [makeFolder('first-manifests'), makeFolder('second-manifests')]
  const file = join(stateHome(env), 'manifest-folders.json')
  writeFileSync(file, JSON.stringify({ folders: [first, second] }), { mode: 0o600 })
  expect(manifestFolders(env)).toEqual([first, second])
  expect(recordManifestFolder(env, first, { isTrusted: false })).toBe(true)
  renameSync(first, `${first}2`)
  makeFolder('first-manifests')
  expect(recordManifestFolder(env, first, { isTrusted: false })).toBe(false)
})

test('the list of manifests folders is bounded, and keeps those that exist', () => {
  const first = makeFolder('first-manifests')
  recordManifestFolder(env, first, { isTrusted: false })
  for (let at = 0; at < 205; at++) {
    const gone = makeFolder(`gone-${at}`)
    recordManifestFolder(env, gone, { isTrusted: false })
    rmSync(gone, { recursive: true })
  }
  const stored = readFileSync(join(stateHome(env), 'manifest-folders.json'), 'utf8')
  expect(JSON.parse(stored).folders).toHaveLength(200)
  expect(manifestFolders(env)).toEqual([first])
})

test('local credentials are off in a manifests folder that was replaced, with the way to confirm it', async () => {
  const manifests = makeFolder('infra/manifests')
  const warnings: string[] = []
  const protect = (isTrusted = false) =>
    protectManifests({ env, manifests, isTrusted, warn: (line) => void warnings.push(line) })
  expect([await protect(), warnings]).toEqual([true, []])
  renameSync(join(root, 'infra'), join(root, 'infra2'))
  makeFolder('infra/manifests')
  expect(await protect()).toBe(false)
  expect(warnings.join()).toContain('then start Chaperone once with --trust-manifests')
  expect([await protect(true), await protect()]).toEqual([true, true])
})
