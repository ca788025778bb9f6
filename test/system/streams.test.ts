import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { descendant, rssMib } from '../support/processes.ts'
import { size } from '../support/proof.ts'
import { replyJson, replySse } from '../support/recorder.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

let vendors: Vendors
let laptop: Laptop
let agent: TestAgent

/** Allows updates but not closing: the class of a PATCH then hangs on its body. */
const SPLIT = `apiVersion: chaperone.dev/v1alpha1
kind: Permission
metadata: { name: split }
spec:
  gatewayRefs: [{ name: local }]
  rules:
    - { connectorType: codehost, actionPattern: codehost.issue.close, decision: deny }
`

beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'vendors.yaml': vendors.manifests, 'split.yaml': SPLIT },
  })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})

const JSON_TYPE = [['Content-Type', 'application/json']] as const

function gatewayPid(): number {
  const pid = descendant(laptop.pid, 'sidecar/main')
  if (pid === null) throw new Error('no gateway process')
  return pid
}

test('a 20 MB chat body is read to its end, arrives unchanged, and the gateway stays small', async () => {
  vendors.recorder.answerWith(replyJson({ ok: true }))
  const before = vendors.recorder.seen.length
  const body = Buffer.from(`{"model":"m","messages":[{"role":"user","content":"${'x'.repeat(20_000_000)}"}]}`)
  const answer = await agent.send({
    method: 'POST',
    host: 'api.openai.com',
    target: '/v1/chat/completions',
    headers: JSON_TYPE,
    body,
  })
  expect(answer.status).toBe(200)
  expect(vendors.recorder.seen[before]?.body.equals(body)).toBe(true)
  expect(rssMib(gatewayPid()).peak).toBeLessThan(150)
})

test('a body that decides is read up to 1 MiB: beyond it the answer is 413 and the upstream sees nothing', async () => {
  const before = vendors.recorder.seen.length
  vendors.recorder.answerLookUpsWith(replyJson({ number: 1 }))
  const issue = {
    method: 'PATCH',
    host: 'api.github.com',
    target: '/repos/a/b/issues/1',
    headers: JSON_TYPE,
  } as const
  const small = await agent.send({ ...issue, body: '{"title":"x"}' })
  expect(small.status).toBe(200)
  const closing = await agent.json({ ...issue, body: '{"state":"closed"}' })
  expect(closing.status).toBe(403)
  expect(closing.body['action_type']).toBe('codehost.issue.close')
  const large = await agent.json({ ...issue, body: `{"title":"${'x'.repeat(1_100_000)}"}` })
  expect(large.status).toBe(413)
  expect(String(large.body['message'])).toMatch(/1 MiB|1048576/)
  expect(vendors.recorder.seen.length).toBe(before + 1)
})

type Live = { readonly applied_version: number | null; readonly desired_version: number }

async function versions(): Promise<{ readonly applied: number; readonly desired: number }> {
  const { body } = await laptop.api('GET', '/api/dashboard/gateway')
  const live = (body['gateways'] as ReadonlyArray<{ readonly live: Live | null }>)[0]?.live
  return { applied: live?.applied_version ?? 0, desired: live?.desired_version ?? 0 }
}

/** 200 of 200 in the nightly run: 40,000 round trips. */
const STREAMS = size(60, 200)
const EVENTS = size(100, 200)

test(`${STREAMS} streams of ${EVENTS} events arrive whole and unmerged: the next is written only when the last one has arrived`, async () => {
  const path = `${laptop.manifests}/vendors.yaml`
  const raised = 'metadata: { name: local }\nspec: { rateLimit: { requestsPerMinute: 10000 } }'
  const text = readFileSync(path, 'utf8').replace('metadata: { name: local }\nspec: {}', raised)
  const before = await versions()
  laptop.writeManifest('vendors.yaml', text)
  await eventually('the raised rate limit', async () => {
    const { applied, desired } = await versions()
    // Both are the same before the file was read, too.
    return applied === desired && applied > before.applied ? true : null
  })
  const writers = new Map<string, () => void>()
  vendors.recorder.answerWith((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let sent = 0
    const write = () => response.write(`data: ${sent++}\n\n`)
    writers.set(String(request.headers['x-stream']), write)
    write()
  })
  const read = async (_: unknown, stream: number) => {
    const socket = await agent.tunnel('api.openai.com')
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: api.openai.com\r\nX-Stream: ${stream}\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"stream":true}`,
    )
    const numbers: number[] = []
    await new Promise<void>((resolve, reject) => {
      socket.on('data', (chunk: Buffer) => {
        const events = [...chunk.toString('latin1').matchAll(/data: (\d+)/g)].map(([, n]) => Number(n))
        if (events.length > 1) reject(new Error('events were gathered'))
        numbers.push(...events)
        if (numbers.length === EVENTS) resolve()
        else if (events.length === 1) writers.get(String(stream))?.()
      })
      socket.once('close', () => reject(new Error(`closed after ${numbers.length} events`)))
    })
    socket.destroy()
    return numbers
  }
  const streams = await Promise.all(Array.from({ length: STREAMS }, read))
  const wanted = Array.from({ length: EVENTS }, (_, i) => i)
  for (const numbers of streams) expect(numbers).toEqual(wanted)
}, 180_000)

test('a client that leaves closes the upstream', async () => {
  vendors.recorder.answerWith(replySse(10_000, 10))
  for (let i = 0; i < 3; i += 1) {
    const socket = await agent.tunnel('api.openai.com')
    socket.write(
      'POST /v1/chat/completions HTTP/1.1\r\nHost: api.openai.com\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
    )
    await new Promise((resolve) => socket.once('data', resolve))
    const seen = vendors.recorder.seen.at(-1)
    socket.destroy()
    await eventually('the upstream was closed', () => (seen?.isCut === true ? true : null))
  }
})

test('Expect: 100-continue is answered after the verdict: a denied upload is never sent', async () => {
  const before = vendors.recorder.seen.length
  const upload = async (method: string, target: string) => {
    const socket = await agent.tunnel('api.github.com')
    let received = ''
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1')
      if (received === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write('{"title":"x"}')
    })
    socket.write(
      `${method} ${target} HTTP/1.1\r\nHost: api.github.com\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 13\r\n\r\n`,
    )
    await eventually('the answer', () => (/HTTP\/1\.1 [2-5]\d\d /.test(received) ? true : null))
    socket.destroy()
    return received
  }
  vendors.recorder.answerWith(replyJson({ ok: true }))
  expect(await upload('DELETE', '/repos/a/b/git/refs/heads/x')).toMatch(/^HTTP\/1\.1 403 /)
  expect(vendors.recorder.seen.length).toBe(before)
  expect(await upload('POST', '/repos/a/b/issues')).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /)
  expect(vendors.recorder.seen.at(-1)?.body.toString()).toBe('{"title":"x"}')
  expect(vendors.recorder.seen.length).toBe(before + 1)
})
