import { describe, expect, it } from 'vitest'
import type { AuthScheme, OutboundEdit } from '../../../core/connectors/connector.ts'
import { injectAuth } from '../../../core/connectors/credentials/credentials.ts'
import { echoForms } from '../../../sidecar/pipeline/response/echo-forms.ts'
import { createEchoMask } from '../../../sidecar/pipeline/response/echo-mask.ts'
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
      note: 'credential masked in the response',
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

  it.each(['/acme/site.git/info/refs?service=git-upload-pack', '/repos/acme/site'])(
    'reaches the agent in none of the forms that it has for %s',
    async (target) => {
      const parts: string[] = []
      const answer: Answer = (request, response) => {
        const [, sent = ''] = String(request.headers.authorization).split(' ')
        const pair = Buffer.from(sent, 'base64').toString()
        parts.push(sent, base64(SECRET), base64(` ${SECRET}`).slice(2, -2))
        if (pair.includes(SECRET)) parts.push(pair)
        response.writeHead(200, { 'x-echo': [`a ${sent}`, ...parts] })
        response.end()
      }
      await using world = await echoing(answer, false)
      const { reply } = await world.send({ method: 'GET', target })
      expect(reply.status).toBe(200)
      for (const part of parts) expect(reply.headers.join(' ')).not.toContain(part)
      expect(world.records[0]?.note).toBe('credential masked in the response')
    },
  )

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

const none = () => undefined
type Scheme = 'bearer' | 'token' | 'basic' | 'header'

/** The mask for what `injectAuth` sends; for a secret that no header can carry, for the secret alone. */
function maskOf(secret: string, type: Scheme = 'bearer', username?: string, hasBodies = true) {
  const edit: OutboundEdit = { rawHeaders: [], rawTarget: '/' }
  const user = username === undefined ? {} : { username }
  const scheme: AuthScheme =
    type === 'header' ? { type, header: 'X-Key' } : type === 'basic' ? { type, ...user } : { type }
  if (/^[ -~]+$/.test(secret.trim())) injectAuth(edit, secret, scheme)
  const forms = echoForms(edit.rawHeaders.slice(1), secret)
  return createEchoMask({ forms, hasBodies, onMasked: none })
}

const stars = (text: string) => '*'.repeat(text.length)
const base64 = (text: string) => Buffer.from(text).toString('base64')
const base64url = (text: string) => Buffer.from(text).toString('base64url')
const HARD = 'a/b+c=d"e\\f<g>&h\'i j~k'

describe('the mask', () => {
  it.each<readonly [string, string, Scheme, string | undefined, string]>([
    ['bare', 'abcdef123', 'bearer', undefined, 'abcdef123'],
    ['percent-encoded', 'ab/cdef=1', 'bearer', undefined, 'ab%2Fcdef%3D1'],
    ['percent-encoded in lower case', 'ab/cdef=1', 'bearer', undefined, 'ab%2fcdef%3d1'],
    ['percent-encoded as a URI', HARD, 'bearer', undefined, encodeURI(HARD)],
    ['percent-encoded strictly', "ab/cd'e(f)*!", 'bearer', undefined, 'ab%2Fcd%27e%28f%29%2A%21'],
    ['in a form', 'ab cd/ef', 'header', undefined, 'ab+cd%2Fef'],
    ['as Basic', 'abcdef123', 'basic', 'u', 'dTphYmNkZWYxMjM='],
    ['as Basic without padding', 'abcdef123', 'basic', 'u', 'dTphYmNkZWYxMjM'],
    ['as a decoded pair', 'abcdef123', 'basic', 'u', 'u:abcdef123'],
    ['as the password of a pair', 'abcdef123', 'basic', 'u', 'abcdef123'],
    ['as a key that stands as the user', 'abcdef123', 'basic', undefined, base64('abcdef123:')],
    ['as the password of a stored pair', 'user:abcdef123', 'basic', undefined, 'abcdef123'],
    ['as the base64 of that password', 'user:abcdef123', 'basic', undefined, base64('abcdef123')],
    ['in base64', 'abcdef123', 'bearer', undefined, base64('abcdef123')],
    ['in base64 for URLs', 'ab?>ab?>ab?>', 'bearer', undefined, base64url('ab?>ab?>ab?>')],
    ['as Basic for URLs', 'ab?>ab?>ab?>', 'basic', 'u', base64url('u:ab?>ab?>ab?>')],
    ['trimmed', ' abcdef123\n', 'bearer', undefined, 'abcdef123'],
    ['trimmed, as Basic', 'abcdef123\r\n', 'basic', 'u', 'dTphYmNkZWYxMjM='],
    ['without a scheme of its own', 'ApiKey abcdef123', 'header', undefined, 'abcdef123'],
    ['in JSON', HARD, 'bearer', undefined, JSON.stringify(HARD).slice(1, -1)],
    ['in JSON with escaped slashes', 'ab/cdef', 'bearer', undefined, 'ab\\/cdef'],
    ['in JSON that is safe in HTML', '<abcde>&', 'bearer', undefined, '\\u003cabcde\\u003e\\u0026'],
    ['in JSON, escaped in upper case', '<abcde>&', 'bearer', undefined, '\\u003Cabcde\\u003E\\u0026'],
    ['in JSON with escaped equals signs', "abcde'==", 'bearer', undefined, 'abcde\\u0027\\u003d\\u003d'],
    ['in JSON of ASCII', 'gehéim', 'bearer', undefined, 'geh\\u00e9im'],
    ['in HTML', '<abc"de>&', 'bearer', undefined, '&lt;abc&quot;de&gt;&amp;'],
    ['in HTML by other entities', "ab'c/d=e", 'bearer', undefined, 'ab&#x27;c&#x2F;d&#x3D;e'],
    ['in upper case', 'abcdef123', 'bearer', undefined, 'ABCDEF123'],
    ['in UTF-8', 'gehéim', 'bearer', undefined, Buffer.from('gehéim').toString('latin1')],
  ])('knows the credential %s', (_, secret, type, username, form) => {
    const mask = maskOf(secret, type, username)
    expect(mask?.fields(['A', `x ${form} y`, 'B', `${form}${form}`])).toEqual([
      ...['A', `x ${stars(form)} y`],
      ...['B', stars(form + form)],
    ])
    const edit = mask?.edit(200, ['content-type', 'application/json'])
    expect(`${edit?.push(Buffer.from(`x ${form}`, 'latin1'))}${edit?.end()}`).toBe(`x ${stars(form)}`)
  })

  it.each(['', 'a', 'ab', 'abc', 'abcd', '{"token":"', 'user:', 'x-access-token:'])(
    'leaves no six characters of it in the base64 of a longer text that begins with "%s"',
    (before) => {
      for (const secret of ['abcdef123', 'S3cret-with/odd+chars=', 'x'.repeat(40)]) {
        for (const behind of ['', '"', '"}', ' and more']) {
          for (const encoding of ['base64', 'base64url'] as const) {
            const text = Buffer.from(before + secret + behind).toString(encoding)
            const [, safe = ''] = maskOf(secret)?.fields(['A', text]) ?? []
            expect(safe).toHaveLength(text.length)
            // The characters at both ends hold bits of the neighbours too.
            const decoded = Buffer.from(safe.replaceAll('*', 'A'), 'base64').toString('latin1')
            for (let at = 0; at + 6 <= secret.length; at++)
              expect(decoded).not.toContain(secret.slice(at, at + 6))
          }
        }
      }
    },
  )

  it('takes other fields that a connector adds for no credential', () => {
    for (const secret of ['abcdef123', '2', 'json']) {
      const { anywhere, words } = echoForms([secret, '2024-10-22', 'application/json'], secret)
      expect([...anywhere, ...words]).not.toContain('2024-10-22')
      expect([...anywhere, ...words]).not.toContain('application/json')
    }
  })

  it('leaves fields alone that do not hold it', () => {
    const fields = ['A', 'abcde', 'B', 'bcdefa']
    const mask = maskOf('abcdef', 'bearer', undefined, false)
    expect(mask?.fields(fields)).toBe(fields)
    expect(mask?.edit(200, ['content-type', 'text/plain'])).toBe(null)
  })

  it.each<readonly [string, Scheme, string | undefined, string, string]>([
    ['a', 'bearer', undefined, 'a', '*'],
    ['abc', 'header', undefined, 'abc', '***'],
    ['abc', 'header', undefined, 'ABC', '***'],
    ['abc', 'bearer', undefined, 'Bearer abc', 'Bearer ***'],
    ['abc', 'bearer', undefined, 'k=abc; Path=/', 'k=***; Path=/'],
    ['abc', 'bearer', undefined, '{"key":"abc"}', '{"key":"***"}'],
    ['abc', 'bearer', undefined, '/cb?next=%3Ftoken%3Dabc%26a', '/cb?next=%3Ftoken%3D***%26a'],
    ['abc', 'bearer', undefined, 'abc,abc', '***,***'],
    ['abc', 'bearer', undefined, base64('abc'), '****'],
    ['abc', 'basic', 'u', base64('u:abc'), '********'],
    ['abc', 'basic', 'u', 'u:abc', '*****'],
    ['abc', 'basic', 'user', 'the password abc', 'the password ***'],
    ['a/b', 'bearer', undefined, 'k=a%2fb', 'k=*****'],
    ['+a', 'bearer', undefined, 'k+a', 'k**'],
    ['abcde', 'bearer', undefined, 'abcde', '*****'],
    ['gehé', 'bearer', undefined, Buffer.from('gehé').toString('latin1'), '*****'],
  ])(
    'replaces the short credential %s (%s, %s) as a whole word in %s',
    (secret, type, username, text, safe) => {
      const mask = maskOf(secret, type, username)
      expect(mask?.fields(['X-Echo', text])).toEqual(['X-Echo', safe])
      const edit = mask?.edit(200, ['content-type', 'application/json'])
      expect(`${edit?.push(Buffer.from(`x ${text}`, 'latin1'))}${edit?.end()}`).toBe(`x ${safe}`)
    },
  )

  it.each(['abc', 'a', '1', '12', 'json', 'close'])(
    'leaves alone what only contains the short credential %s, and the fields of the protocol',
    (secret) => {
      const fields = [
        ...['Content-Length', '1', 'Connection', 'close', 'Content-Type', 'application/json'],
        ...['Date', 'Sun, 1 Nov 2026 12:12:12 GMT', 'Transfer-Encoding', 'chunked', 'Age', '12'],
        ...['X-Abc-Version', 'xabc abcx x-abc abc_x 121', 'ETag', '"9f-abc-1a2"', 'Server', 'jsonb/closed'],
      ]
      const mask = maskOf(secret)
      expect(mask).not.toBe(null)
      expect(mask?.fields(fields)).toBe(fields)
    },
  )

  it('is not made without a credential', () => {
    expect(createEchoMask({ forms: echoForms([], ''), hasBodies: true, onMasked: none })).toBe(null)
  })

  it('finds a short one at every cut', () => {
    for (const secret of ['a', 'aab', 'ab/c']) {
      const word = stars(secret)
      for (const [text, safe] of [
        [`${secret}`, word],
        [`x ${secret} y`, `x ${word} y`],
        [`"${secret}","${secret}"`, `"${word}","${word}"`],
        [`x${secret} ${secret}y z`, `x${secret} ${secret}y z`],
        [`%3D${secret}%26\u003d${secret}\n${secret}`, `%3D${word}%26\u003d${word}\n${word}`],
      ] as const) {
        for (let cut = 0; cut <= text.length; cut++) {
          const edit = maskOf(secret)?.edit(200, ['content-type', 'text/plain'])
          const parts = [text.slice(0, cut), text.slice(cut)].map((part) => edit?.push(Buffer.from(part)))
          expect(parts.join('') + edit?.end(), `${text} cut at ${cut}`).toBe(safe)
        }
        const edit = maskOf(secret)?.edit(200, ['content-type', 'text/plain'])
        expect([...text].map((char) => edit?.push(Buffer.from(char))).join('') + edit?.end()).toBe(safe)
      }
    }
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
        const edit = maskOf(secret)?.edit(200, ['content-type', 'text/plain'])
        if (!edit) throw new Error('no edit')
        const out = [text.slice(0, cut), text.slice(cut)].map((part) =>
          edit.push(Buffer.from(part)).toString(),
        )
        expect(out.join('') + edit.end().toString()).toBe(text.replaceAll(secret, stars(secret)))
      }
    }
  })

  /** Counts the characters that string operations and comparisons of characters read while `run` runs. */
  function countedCharacters(run: () => void): number {
    const prototype = String.prototype as unknown as Record<string, (...given: unknown[]) => unknown>
    const names = ['toLowerCase', 'indexOf', 'startsWith', 'slice', 'charCodeAt'] as const
    const originals = names.map((name) => prototype[name])
    let characters = 0
    for (const [at, name] of names.entries()) {
      const original = originals[at]
      prototype[name] = function (this: string, ...given: unknown[]) {
        characters += name === 'charCodeAt' ? 1 : this.length
        return original?.apply(this, given)
      }
    }
    try {
      run()
    } finally {
      for (const [at, name] of names.entries()) if (originals[at]) prototype[name] = originals[at]
    }
    return characters
  }

  it.each([
    ['a beginning of the credential', (secret: string) => secret.slice(0, -1)],
    ['beginnings that come to nothing', (secret: string) => `${'a'.repeat(secret.length)}`],
  ])('reads characters in proportion to the bytes of %s that arrive one by one', (_what, textOf) => {
    const work = (length: number) => {
      const secret = `${'a'.repeat(length - 1)}b`
      const edit = maskOf(secret)?.edit(200, ['content-type', 'text/plain'])
      const bytes = [...Buffer.from(textOf(secret))].map((byte) => Buffer.of(byte))
      let passed = 0
      const characters = countedCharacters(() => {
        for (const byte of bytes) passed += String(edit?.push(byte) ?? '').length
      })
      expect(passed + (edit?.end().length ?? 0)).toBe(bytes.length)
      return characters / bytes.length
    }
    const [short, long] = [work(500), work(4_000)]
    expect(long).toBeLessThan(1.5 * short)
    expect(long).toBeLessThan(1_000)
  })
})
