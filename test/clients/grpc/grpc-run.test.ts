import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Laptop, startLaptop } from '../../support/laptop.ts'
import { INSTALL_TIMEOUT_MS } from '../../support/package-cache.ts'
import { pythonEnvironment } from '../../support/python-environment.ts'
import { createTestCa } from '../../support/test-ca.ts'
import { type NotesServer, pathOf, startNotes } from './notes.ts'

/** gRPC clients of two languages as `chaperone run` starts them: nothing but its variables leads them to the gateway. */
const HOST = 'notes.example.test'
const SECRET = 'notes-injected-0001'
const PYTHON = hasCommand('python3')
const here = (file: string): string => new URL(file, import.meta.url).pathname

let interpreter = ''
let notes: NotesServer
let laptop: Laptop

function hasCommand(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' })
    return true
  } catch (error) {
    if (process.env['CI'] !== undefined) throw new Error(`${command} is needed in CI`, { cause: error })
    return false
  }
}

beforeAll(async () => {
  if (PYTHON) interpreter = pythonEnvironment('grpcio==1.82.0').python
  const ca = createTestCa()
  notes = await startNotes(ca.issue(HOST))
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'notes.yaml': manifests(notes.port, ca.cert) },
  })
}, INSTALL_TIMEOUT_MS)

afterAll(async () => {
  await laptop?.stop()
  await notes?.[Symbol.asyncDispose]()
})

function manifests(port: number, caPem: string): string {
  return `apiVersion: chaperone.dev/v1alpha1
kind: Gateway
metadata: { name: local }
spec: {}
---
apiVersion: v1
kind: Secret
metadata: { name: notes }
stringData: { token: ${SECRET} }
---
apiVersion: chaperone.dev/v1alpha1
kind: Permission
metadata: { name: notes }
spec:
  gatewayRefs: [{ name: local }]
  rules:
    - { connectorType: generic, actionPattern: generic.post, decision: allow }
    - { connectorType: generic, actionPattern: generic.notes.delete, decision: deny }
---
apiVersion: chaperone.dev/v1alpha1
kind: Connector
metadata: { name: notes }
spec:
  type: generic
  domains: [${HOST}]
  credential: { secretRef: { name: notes, key: token } }
  actions:
    - { method: POST, path: ${pathOf('Delete')}, action: generic.notes.delete, effect: write, risk: medium }
  upstream:
    url: https://127.0.0.1:${port}
    allowPrivateAddresses: true
    caBundle: |
      ${caPem.trim().replaceAll('\n', '\n      ')}
`
}

type Result = {
  readonly ok: boolean
  readonly value?: string
  readonly code?: string
  readonly details?: string
}

async function run(command: readonly string[], name: string): Promise<Result> {
  const { stdout, stderr } = await laptop.cli(['run', '--', ...command, HOST, name])
  const line = stdout.trim().split('\n').at(-1) ?? ''
  if (!line.startsWith('{')) throw new Error(`no result line; stdout: ${stdout} stderr: ${stderr}`)
  return JSON.parse(line)
}

async function recordsOf(name: string, count: number): Promise<ReadonlyArray<Record<string, unknown>>> {
  return eventually(`${count} records of ${name}`, async () => {
    const { body } = await laptop.api('GET', '/api/dashboard/traffic?limit=500')
    const rows = (body['traffic'] as Record<string, unknown>[]).filter((row) => row['path'] === pathOf(name))
    return rows.length >= count ? rows : null
  })
}

const seen = (name: string) => notes.calls.filter(({ path }) => path === pathOf(name))

describe.each([
  { client: '@grpc/grpc-js', command: () => ['node', here('notes-client.mjs')], isHere: true },
  {
    client: 'grpcio of Python',
    command: () => [interpreter, here('notes_client.py')],
    isHere: PYTHON,
  },
])('$client, unmodified', ({ command, isHere }) => {
  const maybe = isHere ? test : test.skip

  maybe('an allowed call arrives once with the stored credential only', async () => {
    const before = seen('Echo').length
    const recorded = (await recordsOf('Echo', 0)).length
    expect(await run(command(), 'Echo')).toEqual({ ok: true, value: 'hello' })
    expect(seen('Echo')).toHaveLength(before + 1)
    expect(seen('Echo').at(-1)?.metadata.get('authorization')).toEqual([`Bearer ${SECRET}`])
    const rows = await recordsOf('Echo', recorded + 1)
    expect(rows).toHaveLength(recorded + 1)
    expect(rows[0]).toMatchObject({ decision: 'ALLOW', status: 200, action_type: 'generic.post' })
  })

  maybe('both sides of a stream talk in turn', async () => {
    const value = Array.from({ length: 5 }, (_, i) => `re: message ${i}`).join(', ')
    expect(await run(command(), 'Chat')).toEqual({ ok: true, value })
  })

  maybe(
    'a denied call is PERMISSION_DENIED with the reason, reaches nobody, and has one record',
    async () => {
      const recorded = (await recordsOf('Delete', 0)).length
      const { ok, code, details } = await run(command(), 'Delete')
      expect({ ok, code }).toEqual({ ok: false, code: 'PERMISSION_DENIED' })
      expect(details).toContain('generic.notes.delete')
      expect(seen('Delete')).toHaveLength(0)
      const rows = await recordsOf('Delete', recorded + 1)
      expect(rows).toHaveLength(recorded + 1)
      expect(rows[0]).toMatchObject({ decision: 'DENY', action_type: 'generic.notes.delete' })
    },
  )
})
