import { createServer, type Server } from 'node:https'
import type { FastifyRequest } from 'fastify'
import { pino } from 'pino'
import { Agent, request } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { createKeyring } from '../../../../controlplane/crypto/keyring.ts'
import { createServerCa } from '../../../../controlplane/crypto/server-certificate.ts'
import { certificateSubject } from '../../../../controlplane/http/auth/client-certificate.ts'
import { clientCaOptions, openTls } from '../../../../controlplane/http/tls.ts'
import { eventually } from '../../../support/eventually.ts'
import { createTestCa, type TestClient } from '../../../support/test-ca.ts'

type Identity = { readonly cert: string; readonly key: string }

const keyring = createKeyring(Buffer.alloc(32, 7))
const ca = createServerCa(keyring, Date.now()).caPem
const userCa = createTestCa('users')
const strangers = createTestCa('users')
const CALLER = { 'x-service-caller': 'certificate' }
const DAY_MS = 86_400_000

/** Responds to each request with the subject of its client certificate. */
async function serve(
  readClientCa: () => Promise<readonly string[]>,
  nowMs: () => number = Date.now,
): Promise<Server> {
  const log = pino({ level: 'silent' })
  const tls = await openTls({ hosts: ['localhost'] }, { keyring, log, readClientCa, clientCaMs: 20 })
  const options = { requestCert: true, rejectUnauthorized: false, ...clientCaOptions(tls.clientCa) }
  const server = createServer({ ...tls.certificate, ...options }, (raw, response) => {
    const subject = certificateSubject({ raw, headers: raw.headers } as FastifyRequest, nowMs())
    response.end(JSON.stringify(subject ?? null))
  })
  tls.keepFresh(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return server
}

async function subjectOf(
  server: Server,
  identity: Identity | null,
  headers: Record<string, string> = CALLER,
): Promise<unknown> {
  const dispatcher = new Agent({ connect: { ca, ...identity } })
  try {
    return await ask(server, dispatcher, headers)
  } finally {
    await dispatcher.destroy()
  }
}

async function ask(server: Server, dispatcher: Agent, headers: Record<string, string>): Promise<unknown> {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : null
  return (await request(`https://localhost:${port}/`, { dispatcher, headers })).body.json()
}

test.each<[TestClient, { username: string; groups: string[] } | null]>([
  [{ commonNames: ['ann'] }, { username: 'ann', groups: [] }],
  [
    { commonNames: ['ann'], organizations: ['team', 'on, call\nO=x'] },
    { username: 'ann', groups: ['team', 'on, call\nO=x'] },
  ],
  [{ commonNames: ['a=b, CN=root'] }, { username: 'a=b, CN=root', groups: [] }],
  [{ commonNames: ['ann', 'root'] }, null],
  [{ commonNames: [''] }, null],
  [{ commonNames: [], organizations: ['system:masters'] }, null],
  [{ commonNames: ['ann'], notAfterMs: Date.now() - 1_000 }, null],
  [{ commonNames: ['ann'], usage: 'server' }, null],
])('the subject of %j is %j', async (client, subject) => {
  const server = await serve(async () => [userCa.cert])
  expect(await subjectOf(server, userCa.issueTo(client))).toEqual(subject)
  expect(await subjectOf(server, strangers.issueTo(client))).toBeNull()
})

test.each<[string, () => Identity | null, Record<string, string>]>([
  ['without a certificate', () => null, CALLER],
  ['without the header', () => userCa.issue('ann'), {}],
  ['with another header', () => userCa.issue('ann'), { 'x-service-caller': 'Certificate, certificate' }],
])('there is no subject %s', async (_what, identity, headers) => {
  expect(await subjectOf(await serve(async () => [userCa.cert]), identity(), headers)).toBeNull()
})

test('a connection that outlives its certificate has no subject', async () => {
  let now = Date.now()
  const server = await serve(
    async () => [userCa.cert],
    () => now,
  )
  const identity = userCa.issueTo({ commonNames: ['ann'], notAfterMs: Date.now() + DAY_MS })
  const dispatcher = new Agent({ connect: { ca, ...identity }, connections: 1 })
  onTestFinished(() => dispatcher.destroy())
  expect(await ask(server, dispatcher, CALLER)).toEqual({ username: 'ann', groups: [] })
  now += 2 * DAY_MS
  expect(await ask(server, dispatcher, CALLER)).toBeNull()
})

test('the CAs of clients are reread, and the last known ones stay in use while they cannot be read', async () => {
  let answer: () => Promise<readonly string[]> = async () => Promise.reject(new Error('no answer'))
  let reads = 0
  const server = await serve(() => {
    reads++
    return answer()
  })
  const ann = userCa.issue('ann')
  const further = async (): Promise<void> => {
    const from = reads
    await eventually('two further reads', async () => (reads >= from + 2 ? true : null))
  }
  expect(await subjectOf(server, ann)).toBeNull()
  answer = async () => [userCa.cert]
  await eventually('the CA is in use', () => subjectOf(server, ann))
  answer = async () => Promise.reject(new Error('no answer'))
  await further()
  expect(await subjectOf(server, ann)).toEqual({ username: 'ann', groups: [] })
  answer = async () => [strangers.cert]
  await eventually('the CA is replaced', async () => ((await subjectOf(server, ann)) === null ? true : null))
  expect(await subjectOf(server, strangers.issue('eve'))).toEqual({ username: 'eve', groups: [] })
  answer = async () => []
  await eventually('no CA is left', async () =>
    (await subjectOf(server, strangers.issue('eve'))) === null ? true : null,
  )
})
