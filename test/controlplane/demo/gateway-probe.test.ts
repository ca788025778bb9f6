import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at } from '../routes/start.ts'

let here: TestInstallation
let gateway: Server
let url: string
const seen: string[] = []
let answer: (path: string) => { status: number; body: string; headers?: Record<string, string> } | null

beforeAll(async () => {
  here = await startTestInstallation()
  gateway = createServer((request, response) => {
    seen.push(request.url ?? '')
    const reply = answer(request.url ?? '')
    if (reply !== null) response.writeHead(reply.status, reply.headers).end(reply.body)
  })
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`
})
afterAll(() => here?.[Symbol.asyncDispose]())
beforeEach(() => {
  seen.length = 0
  answer = () => ({
    status: 200,
    body: JSON.stringify({ status: 'ok', uptime_seconds: 5, agents: 1, connectors: ['chat', 'codehost'] }),
  })
})

const probe = (given?: string) =>
  here.admin(
    'GET',
    `/api/dashboard/test-gateway${given === undefined ? '' : `?url=${encodeURIComponent(given)}`}`,
  )

describe('testing a gateway', () => {
  test('sends no request to an address that is not configured', async () => {
    for (const foreign of [
      url,
      `${url}/health`,
      'http://169.254.169.254/latest',
      'file:///etc/passwd',
      'x',
      'http://[',
    ]) {
      const { status, body } = await probe(foreign)
      expect(status, foreign).toBe(400)
      expect(at(body, 'details')).toMatch(/^url: is not the address of a gateway/)
    }
    expect(seen).toEqual([])
  })

  test('reports that a gateway of the settings is connected, with its connectors', async () => {
    await here.admin('PUT', '/api/dashboard/settings', { settings: { gateway_url: url } })
    const connected = { ok: true, status: 'connected', connectors: ['chat', 'codehost'] }
    expect((await probe(url)).body).toEqual(connected)
    expect((await probe()).body).toEqual(connected)
    // Whatever path is named, only the gateway's health is asked for.
    expect((await probe(`${url}/internal/kill-switch`)).body).toEqual(connected)
    expect(seen).toEqual(['/health', '/health', '/health'])
    expect((await probe(url.replace('http://', 'http://user:secret@'))).status).toBe(400)
  })

  test.each([
    'http://169.254.169.254/latest/meta-data',
    'http://[::ffff:a9fe:a9fe]:80',
    'http://0xa9fea9fe',
    'http://[64:ff9b::a9fe:a9fe]',
    'http://0.0.0.0:9443',
    'http://[fe80::1]:9443',
  ])('sends no request to %s, neither as the address of the settings nor for the health', async (address) => {
    await here.admin('PUT', '/api/dashboard/settings', { settings: { gateway_url: address } })
    const { body } = await probe()
    expect(body).toMatchObject({ ok: false, status: 'unreachable' })
    expect(at(body, 'error')).toMatch(
      /cannot be used: .*a metadata, link-local, unspecified or multicast address/,
    )
    const health = await here.admin('GET', '/api/health')
    expect(health.status).toBe(503)
    expect(health.body).toMatchObject({ checks: { gateway: { status: 'error', error: 'unreachable' } } })
    expect(health.text).not.toMatch(/169\.254|fe80|ffff/)
  })

  test('sends no request to a registered host that is a metadata address', async () => {
    await here.admin('PUT', '/api/dashboard/settings', { settings: { gateway_url: '' } })
    const made = await here.admin('POST', '/api/dashboard/gateway', {
      gateway: { name: 'metadata', host: '169.254.169.254', port: 80 },
    })
    expect(made.status).toBe(200)
    const { body } = await probe('http://169.254.169.254:80')
    expect(body).toMatchObject({ ok: false, status: 'unreachable' })
  })

  test('reports that a registered address is connected', async () => {
    await here.admin('PUT', '/api/dashboard/settings', { settings: { gateway_url: '' } })
    expect((await probe(url)).status).toBe(400)
    const made = await here.admin('POST', '/api/dashboard/gateway', {
      gateway: { name: 'probed', host: '127.0.0.1', port: Number(new URL(url).port) },
    })
    expect(made.status).toBe(200)
    expect((await probe(url)).body).toMatchObject({ ok: true, status: 'connected' })
  })

  test('reports the problem of an address', async () => {
    answer = () => ({
      status: 503,
      body: JSON.stringify({ status: 'not_ready', uptime_seconds: 1, connectors: [] }),
    })
    expect((await probe(url)).body).toMatchObject({
      ok: false,
      status: 'not_ready',
      error: expect.any(String),
    })
    answer = () => ({ status: 200, body: '<html>' })
    expect((await probe(url)).body).toMatchObject({ ok: false, status: 'no_gateway' })
    answer = () => ({ status: 302, body: '', headers: { location: `${url}/elsewhere` } })
    expect((await probe(url)).body).toMatchObject({ ok: false, status: 'no_gateway' })
    expect(seen).not.toContain('/elsewhere')
    answer = () => ({ status: 200, body: 'x'.repeat(1_000_000) })
    expect((await probe(url)).body).toMatchObject({ ok: false, status: 'no_gateway' })
    answer = () => null
    expect((await probe(url)).body).toMatchObject({ ok: false, status: 'timeout' })
    gateway.closeAllConnections()
    await new Promise((resolve) => gateway.close(resolve))
    expect((await probe(url)).body).toMatchObject({ ok: false, status: 'unreachable' })
  })

  test('needs a session', async () => {
    expect((await here.plane.call('GET', '/api/dashboard/test-gateway')).status).toBe(401)
  })
})
