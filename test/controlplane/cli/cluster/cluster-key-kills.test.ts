import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { masterKeyId, parseMasterKeys } from '../../../../controlplane/crypto/master-keys.ts'
import { kubectlPlugin } from '../../../support/cli-program.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const MASTER_KEYS = pathToFileURL(join(ROOT, 'controlplane/crypto/master-keys.ts')).href

/** State of the cluster in `cluster.json`. */
type Cluster = {
  /** Content of the Secret, and its resource version. */
  readonly text: string
  readonly version: number
  /** Content of the key file in the pods, which follows the Secret. */
  readonly file: string
  /** Number of stored secrets by the key that encrypts each. */
  readonly secrets: Readonly<Record<string, number>>
  /** Whether the key that encrypts a stored secret was ever missing in the pods. */
  readonly isLost: boolean
  /** Kills the command `before` or `after` its next write; null: it is not killed. */
  readonly kill: 'before' | 'after' | null
}

/**
 * kubectl of a cluster. Its pods receive a changed Secret with the second call, and encrypt everything with the newest
 * key of the Secret with the third call. Kills its parent, which is the command.
 */
const KUBECTL = `
import { readFileSync, writeFileSync } from 'node:fs'
import { masterKeyId, parseMasterKeys } from '${MASTER_KEYS}'
const FILE = process.env.CLUSTER_FILE
const cluster = JSON.parse(readFileSync(FILE, 'utf8'))
const save = (changes) => writeFileSync(FILE, JSON.stringify(Object.assign(cluster, changes)))
const encoded = (text) => Buffer.from(text).toString('base64')
const [verb] = process.argv.slice(2)
if (verb === 'get') {
  const metadata = { name: 'chaperone-keys', resourceVersion: String(cluster.version) }
  console.log(JSON.stringify({ metadata, data: { 'master.key': encoded(cluster.text), 'admin.token': 'kept' } }))
} else if (verb === 'replace') {
  const { metadata, data } = JSON.parse(readFileSync(0, 'utf8'))
  if (metadata.resourceVersion !== String(cluster.version) || data['admin.token'] !== 'kept') process.exit(1)
  if (cluster.kill === 'before') {
    save({ kill: null })
    process.kill(process.ppid, 'SIGKILL')
  } else {
    const isKilled = cluster.kill === 'after'
    const text = Buffer.from(data['master.key'], 'base64').toString()
    save({ text, version: cluster.version + 1, kill: null })
    if (isKilled) process.kill(process.ppid, 'SIGKILL')
  }
} else {
  const keys = parseMasterKeys(cluster.file, 'pod').keys.map(masterKeyId)
  const newest = keys.at(-1)
  const isComplete = Object.keys(cluster.secrets).every((id) => id === newest)
  const waiting_for = []
  const sealing_key = Object.keys(cluster.secrets).at(-1)
  console.log(JSON.stringify({ keys, sealing_key, is_complete: isComplete, secrets: cluster.secrets, waiting_for }))
  const isLost = cluster.isLost || !Object.keys(cluster.secrets).every((id) => keys.includes(id))
  if (cluster.file === cluster.text) save({ isLost, secrets: { [newest]: 4 } })
  else save({ isLost, file: cluster.text })
}
`

let folder: string
let first: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'chaperone-key-kills-'))
  writeFileSync(join(folder, 'kubectl.mjs'), KUBECTL)
  const script = `#!/bin/sh\nexec ${process.execPath} ${join(folder, 'kubectl.mjs')} "$@"\n`
  writeFileSync(join(folder, 'kubectl'), script, { mode: 0o755 })
  first = `${randomBytes(32).toString('base64')}\n`
  const secrets = { [idsOf(first)[0] ?? '']: 4 }
  write({ text: first, version: 1, file: first, secrets, isLost: false, kill: null })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const clusterFile = () => join(folder, 'cluster.json')
const write = (cluster: Cluster) => writeFileSync(clusterFile(), JSON.stringify(cluster))
const read = () => JSON.parse(readFileSync(clusterFile(), 'utf8')) as Cluster
const idsOf = (content: string) => parseMasterKeys(content, 'Secret').keys.map(masterKeyId)

/** Runs `kubectl chaperone keys rotate`, which is killed at its next write. */
async function rotate(kill: Cluster['kill']) {
  write({ ...read(), kill })
  const env = { ...process.env, KUBECTL: join(folder, 'kubectl'), CLUSTER_FILE: clusterFile() }
  const child = spawn(process.execPath, [kubectlPlugin(), 'keys', 'rotate'], { env })
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  )
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const cluster = read()
  // At each step the Secret has the keys of all stored secrets, and the root key of the installation.
  expect(idsOf(cluster.text)).toEqual(expect.arrayContaining(Object.keys(cluster.secrets)))
  expect(parseMasterKeys(cluster.text, 'Secret').root).toEqual(parseMasterKeys(first, 'Secret').root)
  expect(cluster.isLost).toBe(false)
  return { ...(await ended), output: stdout + stderr, keys: idsOf(cluster.text) }
}

test('a rotation whose command is killed before and after each of its writes continues where it was, and no key is lost', async () => {
  const killed = { code: null, signal: 'SIGKILL' }
  const [former = ''] = idsOf(first)
  expect(await rotate('before')).toMatchObject({ ...killed, keys: [former] })
  const added = await rotate('after')
  expect(added).toMatchObject({ ...killed, keys: [former, expect.any(String)] })
  const newest = added.keys[1] ?? ''
  // The command removes the former key only after everything is encrypted with the new one.
  const continued = await rotate('before')
  expect(continued).toMatchObject({ ...killed, keys: [former, newest] })
  expect(continued.output).toContain(`Continuing the rotation to master key ${newest}.`)
  expect(read().secrets).toEqual({ [newest]: 4 })
  expect(await rotate('after')).toMatchObject({ ...killed, keys: [newest] })
  // The rotation was complete, so the command starts the next one.
  const next = await rotate(null)
  expect(next).toMatchObject({ code: 0, keys: [expect.not.stringMatching(newest)] })
  expect(next.output).toContain(`Removed ${newest} from Secret chaperone-system/chaperone-keys.`)
  expect(read().secrets).toEqual({ [next.keys[0] ?? '']: 4 })
})
