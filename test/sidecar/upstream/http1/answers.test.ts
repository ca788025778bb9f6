import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { ChaperoneError } from '../../../../core/errors.ts'
import type { UpstreamTarget } from '../../../../sidecar/upstream/target.ts'
import fc from '../../../support/fast-check.ts'
import { size } from '../../../support/proof.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { type TestExchangeInput, testExchange } from '../../pipeline/test-exchange.ts'
import { startForwarding, type TestForwarding } from '../test-forwarding.ts'
import { type ScriptedUpstream, startScripted, writeInPieces } from './scripted-upstream.ts'

const open: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

function newUpstream(): TestForwarding {
  const upstream = startForwarding()
  open.push(() => upstream.close())
  return upstream
}

async function scripted(script: Parameters<typeof startScripted>[0]): Promise<ScriptedUpstream> {
  const started = await startScripted(script)
  open.push(() => started.close())
  return started
}

/** Answers every request with these bytes and ends the connection. */
function saying(text: string): Promise<ScriptedUpstream> {
  return scripted((socket) => void socket.end(Buffer.from(text, 'latin1')))
}

function targetAt(port: number): UpstreamTarget {
  return {
    ...{ key: String(port), isTls: false, host: '127.0.0.1', port, servername: '', identities: [] },
    ...{ hostHeader: 'api.github.com', pathPrefix: '', allowPrivateAddresses: true, caBundle: null },
  }
}

async function ask(upstream: TestForwarding, port: number, input: TestExchangeInput = {}) {
  const exchange = testExchange(input)
  await upstream.forward(exchange, {
    target: targetAt(port),
    method: exchange.raw.method,
    path: exchange.raw.target,
    rawHeaders: exchange.raw.rawHeaders,
    body: exchange.body.forward(),
  })
  return exchange
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

describe('answers that two readers could take for different ones', () => {
  it.each([
    [
      'Content-Length and Transfer-Encoding',
      'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['two lengths', 'Content-Length: 2\r\nContent-Length: 3\r\n\r\nok!'],
    ['the same length twice', 'Content-Length: 2\r\nContent-Length: 2\r\n\r\nok'],
    ['a list of lengths', 'Content-Length: 2, 2\r\n\r\nok'],
    ['a signed length', 'Content-Length: +2\r\n\r\nok'],
    ['a hexadecimal length', 'Content-Length: 0x2\r\n\r\nok'],
    ['a coding besides chunked', 'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
    ['an unknown coding', 'Transfer-Encoding: identity\r\n\r\nok'],
    ['two codings', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a space before the colon', 'Content-Length : 2\r\n\r\nok'],
    ['a folded line', 'X-A: 1\r\n 2\r\nContent-Length: 2\r\n\r\nok'],
    ['a bare line feed', 'X-A: 1\nContent-Length: 2\r\n\r\nok'],
    ['a bare carriage return', 'X-A: 1\rX-B: 2\r\nContent-Length: 2\r\n\r\nok'],
    ['a NUL in a value', 'X-A: a\0b\r\nContent-Length: 2\r\n\r\nok'],
    ['a line without a colon', 'nonsense\r\nContent-Length: 2\r\n\r\nok'],
  ])('are refused when the head has %s, and the agent sees none of it', async (_what, rest) => {
    const at = await saying(`HTTP/1.1 200 OK\r\n${rest}`)
    const sending = ask(newUpstream(), at.port)
    await expect(sending).rejects.toMatchObject({ code: 'upstream_failed' })
    await waitFor(() => expect(at.openConnections).toBe(0))
  })

  it.each([
    'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1  200 OK\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    'SSH-2.0-OpenSSH_9\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Le',
    '',
  ])('are refused: %j', async (text) => {
    const at = await saying(text)
    await expect(ask(newUpstream(), at.port)).rejects.toMatchObject({ code: 'upstream_failed' })
  })

  it.each([
    ['a size that is no number', 'zz\r\nok\r\n0\r\n\r\n'],
    ['a blank behind the size of a chunk', '2 \r\nok\r\n0\r\n\r\n'],
    ['a chunk longer than its size', '1\r\nok\r\n0\r\n\r\n'],
    ['a size without CRLF', '2\nok\r\n0\r\n\r\n'],
    ['an end without the last chunk', '2\r\nok\r\n'],
    ['a trailer that is no header', '2\r\nok\r\n0\r\nnonsense\r\n\r\n'],
    ['a length in its trailers', '2\r\nok\r\n0\r\nContent-Length: 1\r\n\r\n'],
    ['a negative size', '-2\r\nok\r\n0\r\n\r\n'],
  ])('are cut when a chunked body has %s, so that no client takes them for complete', async (_what, body) => {
    const at = await saying(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}`)
    const exchange = await ask(newUpstream(), at.port)
    expect(exchange.reply.state).toBe('destroyed')
    expect(exchange.outcome).toMatchObject({ errorType: 'connect', note: 'cut' })
  })

  it('are cut when the connection ends before the announced length', async () => {
    const at = await saying('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok')
    expect((await ask(newUpstream(), at.port)).reply.state).toBe('destroyed')
  })
})

describe('a connection is used again only when nothing was left over', () => {
  it('not after bytes behind an answer: a smuggled second answer reaches no client', async () => {
    const at = await scripted((socket, n) => {
      socket.write(n === 0 ? `${OK}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil` : OK)
    })
    const upstream = newUpstream()
    const first = await ask(upstream, at.port)
    const second = await ask(upstream, at.port)
    expect([first.reply.text(), second.reply.text()]).toEqual(['ok', 'ok'])
    expect(at.received).toHaveLength(2)
  })

  it('not after an answer to nothing on an idle connection', async () => {
    const at = await scripted((socket, n) => {
      socket.write(OK)
      if (n === 0) setImmediate(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'))
    })
    const upstream = newUpstream()
    await ask(upstream, at.port)
    await waitFor(() => expect(at.openConnections).toBe(0))
    expect((await ask(upstream, at.port)).reply.text()).toBe('ok')
    expect(at.received).toHaveLength(2)
  })

  it.each([
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'],
    ['GET', 'HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nevil'],
    ['GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nevil'],
  ])('not after a body behind an answer to %s that has none', async (method, text) => {
    const at = await scripted((socket, n) => void socket.write(n === 0 ? text : OK))
    const upstream = newUpstream()
    const first = await ask(upstream, at.port, { method })
    expect(first.reply.state).toBe('ended')
    expect(first.reply.text()).toBe('')
    const second = await ask(upstream, at.port)
    expect(second.reply.text()).toBe('ok')
    expect(at.received).toHaveLength(2)
  })

  it('but it is after clean answers of every framing', async () => {
    const answers = [
      OK,
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;ext=1\r\nok\r\n0\r\nX-T: 1\r\n\r\n',
      'HTTP/1.1 204 No Content\r\n\r\n',
      'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
      'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n',
      'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok',
    ]
    const at = await scripted((socket, n) => void socket.write(answers[n] ?? OK))
    const upstream = newUpstream()
    const bodies: string[] = []
    for (const _answer of answers) bodies.push((await ask(upstream, at.port)).reply.text())
    expect(bodies).toEqual(['ok', 'ok', '', '', '', 'ok'])
    expect(at.received).toHaveLength(1)
  })

  it.each(['Connection: close', 'Connection: x, Close', 'Keep-Alive: timeout=1'])(
    'and not when the server says %s',
    async (field) => {
      const at = await scripted(
        (socket) => void socket.write(`HTTP/1.1 200 OK\r\n${field}\r\nContent-Length: 2\r\n\r\nok`),
      )
      const upstream = newUpstream()
      await ask(upstream, at.port)
      await ask(upstream, at.port)
      expect(at.received).toHaveLength(2)
    },
  )
})

describe('what leaves', () => {
  it.each([
    ['a line break', 'a\r\nX-Evil: 1'],
    ['a character that latin-1 would cut to a line feed', 'a\u010aX-Evil: 1'],
  ])('never has a header value with %s', async (_what, value) => {
    const at = await saying(OK)
    const sending = ask(newUpstream(), at.port, { headers: ['X-A', value] })
    await expect(sending).rejects.toMatchObject({ code: 'upstream_failed' })
    expect(at.received.join('')).toBe('')
  })

  it('is one request, byte for byte', async () => {
    const at = await saying(OK)
    await ask(newUpstream(), at.port, {
      method: 'POST',
      target: '/a/..%2fb?c',
      body: 'xyz',
      headers: ['X-a', 'B'],
    })
    expect(at.received[0]).toBe(
      'POST /a/..%2fb?c HTTP/1.1\r\nhost: api.github.com\r\nX-a: B\r\ncontent-length: 3\r\n\r\nxyz',
    )
  })
})

type Seen = { readonly status: number; readonly body: string; readonly trailers: readonly string[] } | null

/**
 * What Node's own parser makes of the same bytes; null when it refuses them or the answer is cut. Bytes behind a whole
 * answer fail the connection there too, but not the answer.
 */
function seenByNode(port: number, method: string): Promise<Seen> {
  return new Promise((resolve) => {
    let answer: IncomingMessage | null = null
    let body = ''
    const settle = (): void => {
      const status = answer?.statusCode ?? 0
      const isBodiless = method === 'HEAD' || status === 204 || status === 304
      const isWhole = answer !== null && (answer.complete || isBodiless)
      resolve(isWhole ? { status, body, trailers: answer?.rawTrailers ?? [] } : null)
    }
    const request = httpRequest({ host: '127.0.0.1', port, method, agent: false }, (response) => {
      answer = response
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString('latin1')
      })
      response.on('error', settle)
      response.on('end', settle)
      response.on('close', settle)
    })
    request.on('error', () => {
      // Of a whole answer the last bytes may not have been handed out yet.
      if (answer?.complete !== true) settle()
    })
    request.end()
  })
}

async function seenByUs(upstream: TestForwarding, port: number, method: string): Promise<Seen> {
  try {
    const { reply } = await ask(upstream, port, { method })
    if (reply.state !== 'ended') return null
    const body = Buffer.concat(reply.chunks).toString('latin1')
    return { status: reply.status ?? 0, body, trailers: reply.trailers ?? [] }
  } catch (error) {
    if (error instanceof ChaperoneError && error.code === 'upstream_failed') return null
    throw error
  }
}

const content = fc.string({
  unit: fc.constantFrom('a', 'b', '0', '\r', '\n', ':', ' ', '\xe9'),
  maxLength: 40,
})
const status = fc.constantFrom(200, 201, 204, 304, 404, 500)

const withLength = content.map((body) => `Content-Length: ${body.length}\r\n\r\n${body}`)
const untilClose = content.map((body) => `Connection: close\r\n\r\n${body}`)
const chunked = fc
  .tuple(
    fc.array(
      content.filter((part) => part !== ''),
      { maxLength: 4 },
    ),
    fc.boolean(),
  )
  .map(([parts, hasTrailer]) => {
    const chunks = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')
    return `Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n${hasTrailer ? 'X-Sum: 1\r\n' : ''}\r\n`
  })
const wellFormed = fc
  .tuple(status, fc.oneof(withLength, untilClose, chunked), fc.boolean())
  .map(([code, rest, hasInterim]) => {
    const interim = hasInterim ? 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n' : ''
    return `${interim}HTTP/1.1 ${code} Reason\r\nX-A: b\r\n${rest}`
  })
const mutated = fc
  .tuple(
    wellFormed,
    fc.nat(),
    fc.constantFrom('', '\r', '\n', '\r\n', ' ', ':', '\0', '0', 'Content-Length: 1\r\n'),
  )
  .map(([text, where, piece]) => {
    const at = where % text.length
    return text.slice(0, at) + piece + text.slice(piece === '' ? at + 1 : at)
  })

describe('beside the parser of Node', () => {
  it.each([
    ['well-formed answers mean the same to both', wellFormed, true],
    ['damaged answers mean the same to both, or are refused by us', mutated, false],
  ])(
    '%s, however they are cut into pieces',
    async (_what, arbitrary, mustAccept) => {
      let script = { bytes: Buffer.alloc(0), cuts: [] as readonly number[] }
      const at = await scripted((socket) =>
        writeInPieces(socket, script.bytes, { cuts: script.cuts, isLast: true }),
      )
      let accepted = 0
      await fc.assert(
        fc.asyncProperty(
          arbitrary,
          fc.array(fc.nat({ max: 400 }), { maxLength: 5 }),
          fc.constantFrom('GET', 'HEAD'),
          async (text, cuts, method) => {
            script = { bytes: Buffer.from(text, 'latin1'), cuts }
            const theirs = await seenByNode(at.port, method)
            const upstream = startForwarding()
            const ours = await seenByUs(upstream, at.port, method)
            await upstream.close()
            if (ours !== null) accepted += 1
            if (mustAccept || ours !== null) expect(ours).toEqual(theirs)
          },
        ),
        { numRuns: size(250, 4_000) },
      )
      expect(accepted).toBeGreaterThan(20)
    },
    60_000,
  )
})
