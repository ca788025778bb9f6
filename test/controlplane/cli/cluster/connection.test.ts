import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestCa } from '../../../support/test-ca.ts'

const PROGRAM = new URL('../../../../controlplane/cli/cluster/kubectl-chaperone.ts', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'chaperone-connection-'))
const ca = createTestCa()
const people = createTestCa()
const ann = people.issue('ann')
const base64 = (value: string) => Buffer.from(value).toString('base64')
const CERTIFICATE = { 'client-certificate-data': base64(ann.cert), 'client-key-data': base64(ann.key) }
type Call = { readonly authorization: string | undefined; readonly caller: unknown; readonly user: unknown }
let calls: Call[] = []
let server: Server

beforeAll(async () => {
  const options = { ...ca.issue('localhost'), ca: people.cert, requestCert: true, rejectUnauthorized: false }
  server = createServer(options, (request, response) => {
    const socket = request.socket as TLSSocket
    calls.push({
      authorization: request.headers.authorization,
      caller: request.headers['x-service-caller'],
      user: socket.authorized ? socket.getPeerCertificate().subject.CN : null,
    })
    response.setHeader('content-type', 'application/json')
    response.end('{"approvals":[]}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : null
  const script = [
    '#!/bin/sh',
    'echo "$*" >>"$FAKE/kubectl.log"',
    'case "$*" in',
    '*"config view"*) cat "$FAKE/config.json" ;;',
    '*"get configmap"*) cat "$FAKE/authority.json" ;;',
    `*port-forward*) echo "Forwarding from 127.0.0.1:${port} -> 443"; exec sleep 60 ;;`,
    '*) exit 1 ;;',
    'esac',
  ]
  writeFileSync(join(folder, 'kubectl'), `${script.join('\n')}\n`, { mode: 0o755 })
  writeFileSync(join(folder, 'authority.json'), JSON.stringify({ data: { 'ca.crt': ca.cert } }))
})
beforeEach(() => {
  calls = []
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

async function plugin(user: object | null, env: Readonly<Record<string, string>> = {}) {
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
  const child = spawn(process.execPath, [PROGRAM, 'approvals', 'ls'], { env: { ...process.env, ...given } })
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
  expect([code, stdout]).toEqual([0, 'Nothing waits for a person.\n'])
  expect(calls).toEqual([call])
  expect(kubectl).not.toContain('secret')
  expect(left).toEqual([])
})

test.each<[string, object | null, RegExp]>([
  ['no context', null, /neither a bearer token nor a client certificate/],
  ['nothing of their own', {}, /neither a bearer token nor a client certificate/],
  ['a password', { username: 'ann', password: 'x' }, /neither a bearer token nor a client certificate/],
  ['the right to impersonate', { ...CERTIFICATE, as: 'bob' }, /impersonates/],
])('a user with %s is refused before anything is sent', async (_what, user, message) => {
  const { code, stderr } = await plugin(user)
  expect(code).not.toBe(0)
  expect(stderr).toMatch(message)
  expect(calls).toEqual([])
})
