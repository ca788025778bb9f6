import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { kubectlPlugin } from '../../../support/cli-program.ts'
import { createTestCa } from '../../../support/test-ca.ts'

const PROGRAM = kubectlPlugin()
const folder = mkdtempSync(join(tmpdir(), 'chaperone-connection-'))
const ca = createTestCa()
const userCa = createTestCa()
const ann = userCa.issue('ann')
const base64 = (value: string) => Buffer.from(value).toString('base64')
const CERTIFICATE = { 'client-certificate-data': base64(ann.cert), 'client-key-data': base64(ann.key) }
type Call = { readonly authorization: string | undefined; readonly caller: unknown; readonly user: unknown }
const ANSWERS: Readonly<Record<string, object>> = {
  '/api/health': { status: 'healthy', checks: {} },
  '/api/dashboard/kill-switch': { effective: [] },
  '/api/dashboard/connectors': { connectors: [] },
  '/api/dashboard/manifests': { objects: [], problems: [], config_version: 1, in_force: {} },
  '/api/dashboard/gateway': {
    gateways: [
      { name: 'team/main', live: { processes: 2, warnings: [] } },
      { name: 'team/idle', live: null },
    ],
  },
  '/api/dashboard/agents': {
    agents: [
      { agent_id: 'a1', name: 'team/quiet', status: 'active' },
      { agent_id: 'a2', name: 'team/web', status: 'active', running: { pods: 3, instances: [] } },
      { agent_id: 'a3', name: 'team/gone', status: 'revoked' },
    ],
  },
}
let calls: Call[] = []
let server: Server

beforeAll(async () => {
  const options = { ...ca.issue('localhost'), ca: userCa.cert, requestCert: true, rejectUnauthorized: false }
  server = createServer(options, (request, response) => {
    const socket = request.socket as TLSSocket
    calls.push({
      authorization: request.headers.authorization,
      caller: request.headers['x-service-caller'],
      user: socket.authorized ? socket.getPeerCertificate().subject.CN : null,
    })
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(ANSWERS[request.url ?? ''] ?? { approvals: [] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : null
  const script = [
    '#!/bin/sh',
    'echo "$*" >>"$FAKE/kubectl.log"',
    'case "$*" in',
    '*"config view"*) cat "$FAKE/config.json" ;;',
    '*"get configmap"*) cat "$FAKE/ca.json" ;;',
    `*port-forward*) echo "Forwarding from 127.0.0.1:${port} -> 443"; exec sleep 60 ;;`,
    '*"get gateways.chaperone.dev"*) . "$FAKE/gateways.sh" ;;',
    '*) exit 1 ;;',
    'esac',
  ]
  writeFileSync(join(folder, 'kubectl'), `${script.join('\n')}\n`, { mode: 0o755 })
  writeFileSync(join(folder, 'ca.json'), JSON.stringify({ data: { 'ca.crt': ca.cert } }))
})
beforeEach(() => {
  calls = []
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

async function plugin(
  user: object | null,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = ['approvals', 'ls'],
) {
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'u', user }],
    ...(user === null ? { contexts: null, clusters: null, users: null } : {}),
  }
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config))
  writeFileSync(join(folder, 'kubectl.log'), '')
  const temporary = mkdtempSync(join(folder, 'tmp-'))
  const given = { KUBECTL: join(folder, 'kubectl'), FAKE: folder, TMPDIR: temporary, ...env }
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: { ...process.env, ...given } })
  const code = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const kubectl = readFileSync(join(folder, 'kubectl.log'), 'utf8')
  return { code: await code, stdout, stderr, kubectl, left: readdirSync(temporary) }
}

const byCertificate = { authorization: undefined, caller: 'certificate', user: 'ann' }
const byToken = { authorization: 'Bearer of-ann', caller: undefined, user: null }
const EXEC = { apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never' }
const credential = { kind: 'ExecCredential', apiVersion: EXEC.apiVersion, status: { token: 'of-ann' } }

test.each<[string, object, Call]>([
  ['a client certificate', CERTIFICATE, byCertificate],
  ['a token', { token: 'of-ann' }, byToken],
  ['both', { ...CERTIFICATE, token: 'of-ann' }, byCertificate],
  [
    'a credential plugin',
    { exec: { ...EXEC, command: '/bin/sh', args: ['-c', `echo '${JSON.stringify(credential)}'`] } },
    byToken,
  ],
])('kubectl chaperone acts as the user of kubectl, by %s', async (_what, user, call) => {
  const { code, stdout, kubectl, left } = await plugin(user, {
    CHAPERONE_TOKEN: 'another',
    CHAPERONE_CLIENT_CERT: createTestCa().issue('eve').cert,
    CHAPERONE_CLIENT_KEY: 'another',
  })
  expect([code, stdout]).toEqual([0, 'No pending approvals.\n'])
  expect(calls).toEqual([call])
  expect(kubectl).not.toContain('secret')
  expect(left).toEqual([])
})

test.each<[string, object | null, RegExp]>([
  ['no context', null, /neither a bearer token nor a client certificate/],
  ['nothing of their own', {}, /neither a bearer token nor a client certificate/],
  ['a password', { username: 'ann', password: 'x' }, /neither a bearer token nor a client certificate/],
  ['the right to impersonate', { ...CERTIFICATE, as: 'bob' }, /impersonates/],
])('a user with %s is rejected before a request is sent', async (_what, user, message) => {
  const { code, stderr } = await plugin(user)
  expect(code).not.toBe(0)
  expect(stderr).toMatch(message)
  expect(calls).toEqual([])
})

/** The response for users who can list in these namespaces only; `where` is the argument of the last `kubectl get gateways`. */
const listing = (allowed: 'all' | 'namespace' | 'nothing') => {
  const forbidden =
    'echo "Error from server (Forbidden): gateways.chaperone.dev is forbidden: User ann cannot list" >&2; exit 1'
  const table = 'echo "NAME READY"; echo "shared True"'
  const [all, one] = [allowed === 'all' ? table : forbidden, allowed === 'nothing' ? forbidden : table]
  return `case "$*" in *--all-namespaces*) ${all} ;; *) ${one} ;; esac\n`
}

test.each([
  ['everywhere', 'all', ['status'], ['--all-namespaces']],
  ['in the namespace of the context', 'namespace', ['status'], ['--all-namespaces', '']],
  ['in one namespace', 'namespace', ['status', '-n', 'team-a'], ['--all-namespaces', '--namespace team-a']],
  ['nowhere', 'nothing', ['status'], ['--all-namespaces', '']],
] as const)(
  'status lists the Gateways for a user who may list them %s',
  async (_what, allowed, args, asked) => {
    writeFileSync(join(folder, 'gateways.sh'), listing(allowed))
    const { code, stdout, stderr, kubectl } = await plugin(CERTIFICATE, {}, args)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.includes('shared True')).toBe(allowed !== 'nothing')
    expect(stdout).not.toMatch(/forbidden/i)
    expect(stdout).toContain('gateways       team/main (2 connected), team/idle (not connected)\n')
    expect(stdout).toContain('agents         team/web (3 pods), team/quiet (0 pods)\n')
    expect(stdout).not.toMatch(/Mode B|none registered/)
    const lines = kubectl.split('\n').filter((line) => line.includes('get gateways.chaperone.dev'))
    expect(lines.map((line) => line.replace(/.*gateways\.chaperone\.dev ?/, ''))).toEqual(asked)
  },
)

test('status reports the error of kubectl when the list fails for another reason', async () => {
  writeFileSync(join(folder, 'gateways.sh'), 'echo "the server does not have a resource type" >&2; exit 1\n')
  const { code, stderr } = await plugin(CERTIFICATE, {}, ['status'])
  expect(code).not.toBe(0)
  expect(stderr).toContain('does not have a resource type')
})
