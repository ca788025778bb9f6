import { describe, expect, test } from 'vitest'
import { stripCredentials } from '../../../core/connectors/credentials/credentials.ts'
import { connectorOfType } from '../../../core/connectors/registry.ts'
import { isRefusal, type RawRequest } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { outboundHeaders } from '../../../sidecar/upstream/headers.ts'
import fc from '../../support/fast-check.ts'
import { USUAL_HOST } from '../connectors/golden.ts'
import { hostileRequest } from './hostile-request.ts'
import { LONG_MS, runs } from './runs.ts'

/** What may be missing upstream: fields of one connection, and the agent's own credentials. Written down independently. */
const HOP_BY_HOP =
  /^(connection|keep-alive|proxy-authenticate|proxy-authorization|proxy-connection|te|trailer|transfer-encoding|upgrade|host|expect|http2-settings)$/
const CREDENTIAL = /auth|cookie|token|key|secret|jwt/
const NAMES = [
  'Accept',
  'X-A',
  'authorization',
  'Cookie',
  'X-Api-Key',
  'TE',
  'X-Trace',
  'x_b',
  'Keep-Alive',
  'If-Match',
  'PRIVATE-TOKEN',
]

const headerName = fc.oneof(fc.constantFrom(...NAMES), fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,9}$/))
// Any byte that a field value may hold, as latin-1.
const headerValue = fc.string({
  unit: fc
    .integer({ min: 0x21, max: 0xff })
    .filter((c) => c !== 0x7f)
    .map((c) => String.fromCharCode(c)),
  maxLength: 12,
})
const headers = fc.array(fc.tuple(headerName, headerValue), { maxLength: 6 })

describe('the forwarded request', () => {
  test(
    'has path, query and headers byte for byte as classified, without hop-by-hop fields and credentials',
    () => {
      const seen = { passed: 0 }
      fc.assert(
        fc.property(hostileRequest, headers, ({ provider, raw }, more) => {
          const full = { ...raw, rawHeaders: [...raw.rawHeaders, ...more.flat()] }
          const request = canonicalise(full)
          if (isRefusal(request)) return
          seen.passed += 1
          expect(request.rawTarget).toBe(full.target)
          const edit = { rawHeaders: [...request.rawHeaders], rawTarget: request.rawTarget }
          stripCredentials(edit, connectorOfType(provider))
          const [path = '', query = ''] = edit.rawTarget.split(/\?(.*)/s)
          expect(path).toBe(full.target.split('?')[0])
          expect(isLeftOf(query.split('&'), full.target.split(/\?(.*)/s)[1]?.split('&') ?? [])).toBe(true)
          const out = pairsOf(outboundHeaders(edit.rawHeaders, USUAL_HOST[provider], undefined)).slice(1)
          const wanted = pairsOf(full.rawHeaders)
          expect(isLeftOf(out, wanted)).toBe(true)
          const missing = wanted
            .filter((pair) => !out.includes(pair))
            .map((pair) => pair.split('\0')[0]?.toLowerCase() ?? '')
          for (const name of missing) expect(HOP_BY_HOP.test(name) || CREDENTIAL.test(name), name).toBe(true)
          for (const pair of out)
            expect(HOP_BY_HOP.test(pair.split('\0')[0]?.toLowerCase() ?? '')).toBe(false)
        }),
        runs(3_000),
      )
      expect(seen.passed).toBeGreaterThan(500)
    },
    LONG_MS,
  )
})

function pairsOf(raw: readonly string[]): readonly string[] {
  return raw.flatMap((text, at) => (at % 2 === 0 ? [`${text}\0${raw[at + 1] ?? ''}`] : []))
}

/** True when `some` are among `all`, unchanged and in the same order. */
function isLeftOf(some: readonly string[], all: readonly string[]): boolean {
  let at = 0
  return some.every((one) => {
    if (one === '') return true
    const found = all.indexOf(one, at)
    at = found + 1
    return found !== -1
  })
}

/** End of a body for servers that read one of the two fields, take the first or the last, or parse numbers leniently. */
function endsOf(fields: ReadonlyArray<readonly [string, string]>): ReadonlySet<string> {
  const of = (name: string) =>
    fields.filter(([own]) => own.toLowerCase().replaceAll('_', '-').trim() === name).map(([, value]) => value)
  const lengths = of('content-length')
    .flatMap((value) => value.split(','))
    .flatMap((value) => [Number.parseInt(value, 10), Number(value)])
  const chunked = of('transfer-encoding').map((value) => (/chunked/i.test(value) ? 'chunked' : 'to the end'))
  return new Set([...lengths.map(String), ...chunked])
}

const framing = fc.array(
  fc.tuple(
    fc.constantFrom(
      'Content-Length',
      'content-length',
      'Content_Length',
      'Transfer-Encoding',
      'transfer_encoding',
    ),
    fc.constantFrom(
      '5',
      '05',
      '+5',
      '0x5',
      '5, 5',
      '5,6',
      '6',
      '-1',
      '1e1',
      'chunked',
      'Chunked',
      'gzip, chunked',
      'chunked, identity',
      'xchunked',
      'identity',
    ),
  ),
  { minLength: 1, maxLength: 3 },
)

test(
  'a body whose end two servers could find in different places is refused',
  () => {
    const seen = { accepted: 0 }
    fc.assert(
      fc.property(framing, (fields) => {
        const raw: RawRequest = {
          method: 'POST',
          target: '/v1/charges',
          rawHeaders: ['Host', 'api.stripe.com', ...fields.flat()],
          httpVersion: '1.1',
          scheme: 'https',
          sources: {},
        }
        const request = canonicalise(raw)
        if (isRefusal(request)) return
        seen.accepted += 1
        const { length, isChunked } = request.body
        expect([...endsOf(fields)]).toEqual([isChunked ? 'chunked' : String(length)])
      }),
      runs(2_000),
    )
    expect(seen.accepted).toBeGreaterThan(20)
  },
  LONG_MS,
)
