import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { clientStream, duplex, type GrpcWorld, SECRET, serverStream, startGrpcWorld, unary } from './world.ts'

/**
 * The official gRPC client of Node, unmodified, through a live gateway to a real gRPC server. What counts is what the
 * server saw, what the caller reads, and the one record of each call.
 */
let world: GrpcWorld
beforeAll(async () => {
  world = await startGrpcWorld()
})
afterAll(() => world[Symbol.asyncDispose]())

const lastCall = (name: string) => world.notes.calls.findLast((call) => call.path.endsWith(`/${name}`))
const callsOf = (name: string) => world.notes.calls.filter((call) => call.path.endsWith(`/${name}`)).length

/** How a stream ended, whatever way. */
function statusOf(call: NodeJS.EventEmitter): Promise<StatusObject> {
  call.on('error', () => undefined)
  return new Promise((resolve) => void call.once('status', resolve))
}

/** The records of one method, once `isEnough` says so. */
function rowsOf(name: string, isEnough: (rows: Rows) => boolean): Promise<Rows> {
  return eventually(`records of ${name}`, () => {
    const rows = world.gateway.fake.records.filter((row) => row.path?.endsWith(`/${name}`))
    return isEnough(rows) ? rows : null
  })
}
type Rows = GrpcWorld['gateway']['fake']['records']

describe('an allowed call', () => {
  test('unary: message, metadata and trailers pass, the agent’s own authorization does not', async () => {
    const metadata = new Metadata()
    metadata.set('authorization', 'Bearer agents-own')
    metadata.set('x-trace-bin', Buffer.from([0, 255, 128]))
    metadata.set('x-plain', 'yes')
    const {
      error,
      value,
      metadata: first,
      trailers,
    } = await unary(world.client, 'Echo', 'hello', { metadata })
    expect(error).toBeNull()
    expect(String(value)).toBe('hello')
    expect(first.get('x-served-by')).toEqual(['notes'])
    expect(trailers.get('x-digest-bin')).toEqual([Buffer.from([0, 1, 255])])
    const seen = lastCall('Echo')
    expect(seen?.metadata.get('authorization')).toEqual([`Bearer ${SECRET}`])
    expect(seen?.metadata.get('x-trace-bin')).toEqual([Buffer.from([0, 255, 128])])
    expect(seen?.metadata.get('x-plain')).toEqual(['yes'])
    const rows = await rowsOf('Echo', ({ length }) => length > 0)
    expect(rows).toHaveLength(1)
    expect(rows[0]).toMatchObject({
      action_type: 'generic.post',
      ...{ decision: 'ALLOW', status: 200, transport: 'connect-h2', method: 'POST' },
      ...{ path: '/notes.v1.Notes/Echo', connector: 'generic', agent: 'bot', bytes_in: 10, bytes_out: 10 },
    })
  })

  test('messages of 8 MiB pass both ways', async () => {
    const body = Buffer.alloc(8 * 1024 * 1024, 'x')
    const { error, value } = await unary(world.client, 'Echo', body)
    expect(error).toBeNull()
    expect(value?.equals(body)).toBe(true)
  })

  test('a stream of the server arrives message by message', async () => {
    const messages: string[] = []
    const call = serverStream(world.client, 'List')
    call.on('data', (message: Buffer) => messages.push(String(message)))
    expect((await statusOf(call)).code).toBe(status.OK)
    expect(messages).toEqual(Array.from({ length: 100 }, (_, i) => `note ${i}`))
  })

  test('a stream of the client is counted whole', async () => {
    const done = Promise.withResolvers<string>()
    const call = clientStream(world.client, 'Add', (error, value) => done.resolve(String(error ?? value)))
    for (let i = 0; i < 250; i++) call.write(Buffer.from(`note ${i}`))
    call.end()
    expect(await done.promise).toBe('250 added')
  })

  test('both sides talk in turn: no message waits for the end of the other side', async () => {
    const call = duplex(world.client, 'Chat')
    const ended = statusOf(call)
    for (let i = 0; i < 20; i++) {
      call.write(Buffer.from(`message ${i}`))
      const [answer] = await once(call, 'data')
      expect(String(answer)).toBe(`re: message ${i}`)
    }
    call.end()
    expect((await ended).code).toBe(status.OK)
    expect(lastCall('Chat')?.isEnded).toBe(true)
  })

  test('a status of the server arrives with its text', async () => {
    const { error } = await unary(world.client, 'Find', 'x')
    expect(error).toMatchObject({ code: status.NOT_FOUND, details: 'no note “7” here: 100%' })
  })

  test('a hundred at once share one connection and have a record each', async () => {
    const ended = await Promise.all(
      Array.from({ length: 100 }, (_, i) => unary(world.client, 'Echo', `call ${i}`)),
    )
    expect(ended.map(({ value }) => String(value))).toEqual(ended.map((_, i) => `call ${i}`))
    const calls = callsOf('Echo')
    const rows = await rowsOf('Echo', ({ length }) => length >= calls)
    expect(rows).toHaveLength(calls)
    expect(new Set(rows.map((row) => row.id)).size).toBe(calls)
  })
})

describe('a call that is not allowed', () => {
  test('is PERMISSION_DENIED with the reason, reaches no upstream, and has one record', async () => {
    const { error } = await unary(world.client, 'Delete', 'x')
    expect(error?.code).toBe(status.PERMISSION_DENIED)
    expect(error?.details).toContain('generic.notes.delete')
    expect(error?.metadata.get('x-service-decision')).toEqual(['deny'])
    expect(callsOf('Delete')).toBe(0)
    const rows = await rowsOf('Delete', ({ length }) => length > 0)
    expect(rows).toHaveLength(1)
    expect(rows[0]).toMatchObject({
      action_type: 'generic.notes.delete',
      decision: 'DENY',
      status: 403,
      reason: 'permission',
    })
  })

  test('waits for a person and passes once when that person agrees', async () => {
    const before = callsOf('Publish')
    const running = unary(world.client, 'Publish', 'to all')
    const hold = await eventually('the hold', () => world.gateway.fake.pendingHolds()[0] ?? null)
    expect(hold.body).toMatchObject({
      action_type: 'generic.notes.publish',
      path: '/notes.v1.Notes/Publish',
      unread_body: { description: expect.stringMatching(/not shown: 11 bytes.*application\/grpc.*SHA-256/) },
    })
    expect(callsOf('Publish')).toBe(before)
    world.gateway.fake.respond(hold.id, 'approved')
    const { error, value } = await running
    expect(error).toBeNull()
    expect(String(value)).toBe('to all')
    expect(callsOf('Publish')).toBe(before + 1)
    const rows = await rowsOf('Publish', ({ length }) => length > 0)
    expect(rows).toHaveLength(1)
    expect(rows[0]).toMatchObject({ note: 'approved', approval_id: hold.id, status: 200 })
  })

  test('is PERMISSION_DENIED with the note of the approver who denied it', async () => {
    const before = callsOf('Publish')
    const running = unary(world.client, 'Publish', 'something else')
    const hold = await eventually('the hold', () => world.gateway.fake.pendingHolds()[0] ?? null)
    world.gateway.fake.respond(hold.id, 'denied')
    const { error } = await running
    expect(error).toMatchObject({
      code: status.PERMISSION_DENIED,
      details: expect.stringContaining('because'),
    })
    expect(callsOf('Publish')).toBe(before)
  })

  test('whose client continues to send is held, and the card says that more messages follow', async () => {
    const call = duplex(world.client, 'Talk')
    const ended = statusOf(call)
    call.write(Buffer.from('one'))
    const hold = await eventually('the hold', () => world.gateway.fake.pendingHolds()[0] ?? null)
    expect(hold.body).toMatchObject({
      action_type: 'generic.notes.talk',
      path: '/notes.v1.Notes/Talk',
      body_sha256: null,
      parameters: { request_stream: expect.stringContaining('open') },
    })
    call.write(Buffer.from('two'))
    expect(callsOf('Talk')).toBe(0)
    world.gateway.fake.respond(hold.id, 'approved')
    const heard: string[] = []
    call.on('data', (message: Buffer) => heard.push(String(message)))
    await eventually('both answers', () => (heard.length === 2 ? true : null))
    call.write(Buffer.from('three'))
    call.end()
    expect((await ended).code).toBe(status.OK)
    expect(heard).toEqual(['re: one', 're: two', 're: three'])
    expect(callsOf('Talk')).toBe(1)
    const rows = await rowsOf('Talk', ({ length }) => length > 0)
    expect(rows).toHaveLength(1)
    expect(rows[0]).toMatchObject({ note: 'approved', approval_id: hold.id, status: 200 })
  })

  test('whose client continues to send is refused with the note of the approver, and reaches no upstream', async () => {
    const before = callsOf('Talk')
    const call = duplex(world.client, 'Talk')
    const ended = statusOf(call)
    call.write(Buffer.from('one'))
    const hold = await eventually('the hold', () => world.gateway.fake.pendingHolds()[0] ?? null)
    world.gateway.fake.respond(hold.id, 'denied')
    expect(await ended).toMatchObject({
      code: status.PERMISSION_DENIED,
      details: expect.stringContaining('because'),
    })
    expect(callsOf('Talk')).toBe(before)
  })

  test.each<readonly [string, string, (name: string) => Promise<StatusObject>]>([
    [
      'a unary call',
      'Send',
      async (name) => {
        const { error } = await unary(world.client, name, 'x')
        if (error === null) throw new Error('the call passed')
        return error
      },
    ],
    [
      'a call that goes on',
      'Dictate',
      (name) => {
        const call = duplex(world.client, name)
        call.write(Buffer.from('one'))
        return statusOf(call)
      },
    ],
    ['a call that has sent nothing yet', 'Dictate', (name) => statusOf(duplex(world.client, name))],
  ])('is not held where its bodies are not declared opaque: %s', async (_what, name, call) => {
    const recorded = world.gateway.fake.records.filter((row) => row.path?.endsWith(`/${name}`)).length
    const ended = await call(name)
    expect(ended).toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringMatching(/could not read its body.*gRPC messages, set "bodies: opaque"/),
    })
    expect(callsOf(name)).toBe(0)
    expect(world.gateway.fake.pendingHolds()).toEqual([])
    const rows = await rowsOf(name, ({ length }) => length > recorded)
    expect(rows).toHaveLength(recorded + 1)
    expect(rows.at(-1)).toMatchObject({ decision: 'DENY', reason: 'ambiguous', status: 415 })
  })

  test('ends at its own deadline while the approval is pending, and reaches no upstream', async () => {
    const before = callsOf('Publish')
    const { error } = await unary(world.client, 'Publish', 'no patience', { deadlineMs: 3_000 })
    expect(error?.code).toBe(status.DEADLINE_EXCEEDED)
    const rows = await rowsOf('Publish', (all) => all.some((row) => row.decision === 'HOLD'))
    expect(rows).toHaveLength(3)
    expect(callsOf('Publish')).toBe(before)
    for (const hold of world.gateway.fake.pendingHolds()) world.gateway.fake.respond(hold.id, 'denied')
  })
})

describe('a call that is cut', () => {
  test('by its caller is taken back from the server', async () => {
    const call = serverStream(world.client, 'Watch')
    const ended = statusOf(call)
    await new Promise((resolve) => call.once('data', resolve))
    call.cancel()
    expect((await ended).code).toBe(status.CANCELLED)
    await eventually('the cancellation', () => (lastCall('Watch')?.isCancelled === true ? true : null))
  })

  test('by its deadline is taken back from the server', async () => {
    const { error } = await unary(world.client, 'Sleep', 'x', { deadlineMs: 3_000 })
    expect(error?.code).toBe(status.DEADLINE_EXCEEDED)
    expect(lastCall('Sleep')?.metadata.get('grpc-timeout')).toHaveLength(0)
    await eventually('the cancellation', () => (lastCall('Sleep')?.isCancelled === true ? true : null))
  })

  test('by the kill switch ends as PERMISSION_DENIED with its reason, and so does the next one', async () => {
    const call = serverStream(world.client, 'Watch')
    const ended = statusOf(call)
    await new Promise((resolve) => call.once('data', resolve))
    const { fake } = world.gateway
    fake.kill([{ scope: 'all', source: 'api', reason: 'drill', since: new Date().toISOString() }])
    expect(await ended).toMatchObject({
      code: status.PERMISSION_DENIED,
      details: expect.stringContaining('Kill switch active: drill'),
    })
    await eventually('the cancellation', () => (lastCall('Watch')?.isCancelled === true ? true : null))
    const before = callsOf('Echo')
    const { error } = await unary(world.client, 'Echo', 'x')
    expect(error).toMatchObject({
      code: status.PERMISSION_DENIED,
      details: expect.stringContaining('Kill switch active: drill'),
    })
    expect(callsOf('Echo')).toBe(before)
    fake.kill([])
    await eventually('calls again', async () => {
      const again: ServiceError | null = (await unary(world.client, 'Echo', 'x')).error
      return again === null ? true : null
    })
    const rows = await rowsOf('Watch', (all) => all.some((row) => row.note === 'aborted by a kill switch'))
    expect(rows.filter((row) => row.note === 'aborted by a kill switch')).toHaveLength(1)
  })
})

test('a call to a server that speaks no HTTP/2 is UNAVAILABLE, and says so', async () => {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(request.url ?? '')
    response.end('ok')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const other = await startGrpcWorld(`http://127.0.0.1:${port}`)
  const { error } = await unary(other.client, 'Echo', 'x')
  expect(error).toMatchObject({
    code: status.UNAVAILABLE,
    details: expect.stringContaining('does not support HTTP/2'),
  })
  expect(seen).toEqual([])
  await other[Symbol.asyncDispose]()
  server.close()
})
