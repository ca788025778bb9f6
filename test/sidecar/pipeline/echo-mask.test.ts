import { describe, expect, it } from 'vitest'
import { createEchoMask } from '../../../sidecar/pipeline/echo-mask.ts'
import type { Answer } from '../../support/recorder.ts'
import { LIST } from './pipeline-world.ts'
import { connectorAt, SECRET, snapshotOf, startWorld, type World } from './test-world.ts'

const STARS = '*'.repeat(SECRET.length)

async function echoing(answer: Answer, scrubResponses: boolean): Promise<World> {
  const world = await startWorld({ permissions: [['codehost.*', 'allow']] }, { answer })
  const { port } = world.upstream
  world.state.snapshot = snapshotOf(
    { permissions: [['codehost.*', 'allow']], connectors: [connectorAt(port, { scrubResponses })] },
    port,
    9,
  )
  return world
}

/** Sends what it was given back in headers, a trailer and the body, cut where `parts` says. */
function echo(type: string, parts: (text: string) => readonly string[]): Answer {
  return async (request, response) => {
    const seen = String(request.headers.authorization)
    response.writeHead(200, {
      'content-type': type,
      'x-echo': seen,
      [`x-${SECRET}`]: 'name',
      'set-cookie': [`a=${seen}`, 'b=2'],
      trailer: 'x-late',
    })
    for (const part of parts(`{"you sent":"${seen}"}`)) {
      response.write(part)
      await new Promise((resolve) => setImmediate(resolve))
    }
    response.addTrailers({ 'x-late': seen })
    response.end()
  }
}

const whole = (text: string) => [text]
const bytewise = (text: string) => [...text]

describe('an upstream that sends our credential back', () => {
  it('reaches the agent without it in headers and trailers, and the record says so', async () => {
    await using world = await echoing(echo('application/json', whole), false)
    const { reply } = await world.send(LIST)
    const text = JSON.stringify([reply.headers, reply.trailers])
    expect(text).not.toContain(SECRET)
    expect(text.split(STARS)).toHaveLength(5)
    expect(reply.text()).toContain(SECRET)
    expect(world.records[0]).toMatchObject({
      decision: 'ALLOW',
      status: 200,
      note: 'credential masked in the answer',
    })
  })

  it.each([
    ['whole', 'application/json', whole],
    ['byte by byte', 'application/json', bytewise],
    ['as events, byte by byte', 'text/event-stream', bytewise],
  ])('is scrubbed where the Connector says so, %s', async (_, type, parts) => {
    await using world = await echoing(echo(type, parts), true)
    const { reply } = await world.send(LIST)
    expect(reply.text()).toBe(`{"you sent":"token ${STARS}"}`)
    expect(world.upstream.seen[0]?.header('accept-encoding')).toBe('identity')
  })

  it('passes files and what does not hold the credential byte for byte', async () => {
    const answer: Answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'x-other': SECRET.slice(1) })
      response.end(SECRET)
    }
    await using world = await echoing(answer, true)
    const { reply } = await world.send(LIST)
    expect(reply.text()).toBe(SECRET)
    expect(reply.headers.join(' ')).toContain(SECRET.slice(1))
    expect(world.records[0]?.note).toBe(null)
  })
})

describe('the mask', () => {
  const none = () => undefined
  it.each([
    ['bare', 'abcdef123', { type: 'bearer' } as const, 'abcdef123'],
    ['percent-encoded', 'ab/cdef=1', { type: 'bearer' } as const, 'ab%2Fcdef%3D1'],
    ['as Basic', 'abcdef123', { type: 'basic', username: 'u' } as const, 'dTphYmNkZWYxMjM='],
    ['in UTF-8', 'gehéim', { type: 'bearer' } as const, Buffer.from('gehéim').toString('latin1')],
  ])('knows the credential %s', (_, secret, scheme, form) => {
    const mask = createEchoMask({ secret, scheme, hasBodies: true, onMasked: none })
    expect(mask?.headers(['A', `x ${form} y`, 'B', `${form}${form}`])).toEqual([
      ...['A', `x ${'*'.repeat(form.length)} y`],
      ...['B', '*'.repeat(2 * form.length)],
    ])
  })

  it('leaves fields alone that do not hold it', () => {
    const mask = createEchoMask({
      secret: 'abcdef',
      scheme: { type: 'bearer' },
      hasBodies: false,
      onMasked: none,
    })
    const fields = ['A', 'abcde', 'B', 'bcdefa']
    expect(mask?.headers(fields)).toBe(fields)
    expect(mask?.body(['content-type', 'text/plain'])).toBe(null)
  })

  it('is not made for a secret that would match by accident', () => {
    expect(
      createEchoMask({ secret: 'abc', scheme: { type: 'bearer' }, hasBodies: true, onMasked: none }),
    ).toBe(null)
  })

  it('finds it at every cut, also behind a beginning that came to nothing', () => {
    const secret = 'aabaabaac'
    for (const text of [
      `xx${secret}yy`,
      `aab${secret}`,
      `aabaab${secret}a`,
      `${secret}${secret}`,
      'aabaabaa',
    ]) {
      for (let cut = 0; cut <= text.length; cut++) {
        const options = { secret, scheme: { type: 'bearer' }, hasBodies: true, onMasked: none } as const
        const edit = createEchoMask(options)?.body(['content-type', 'text/plain'])
        if (!edit) throw new Error('no edit')
        const out = [text.slice(0, cut), text.slice(cut)].map((part) =>
          edit.push(Buffer.from(part)).toString(),
        )
        expect(out.join('') + edit.end().toString()).toBe(text.replaceAll(secret, '*'.repeat(secret.length)))
      }
    }
  })
})
