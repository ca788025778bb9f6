import { describe, expect, test } from 'vitest'
import { classify, scannedMembers } from '../../../core/connectors/classify.ts'
import { type CanonicalRequest, isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { scanShortJson } from '../../../core/request/json/json-scan.ts'
import { ScanMemo } from '../../../sidecar/pipeline/classification/scan-memo.ts'
import { boundOf } from '../../core/connectors/golden.ts'
import fc from '../../support/fast-check.ts'

const bound = boundOf('llm_a')

function requestTo(target: string): CanonicalRequest {
  const rawHeaders = ['Host', 'api.openai.com', 'Content-Type', 'application/json', 'Content-Length', '9']
  const read = canonicalise({
    ...{ method: 'POST', target, httpVersion: '1.1', scheme: 'https', sources: {}, rawHeaders },
  })
  if (isRefusal(read)) throw new Error(read.detail)
  return read
}

const request = requestTo('/v1/responses')

function viewOf(body: unknown, of = bound) {
  const keep = scannedMembers(of, request) ?? []
  const scan = scanShortJson(Buffer.from(JSON.stringify(body)), { keep, find: of.connector.find })
  if (isRefusal(scan)) throw new Error(scan.detail)
  return { kind: 'json', value: scan.value, found: scan.found } as const
}

const tool = fc.oneof(
  fc.record({ type: fc.constantFrom('function', 'web_search', 'code_interpreter', 'none_that_exists') }),
  fc.record({
    type: fc.constant('mcp'),
    server_url: fc.constantFrom('https://a.example/x', 'https://b.example'),
  }),
)
const body = fc.record(
  {
    model: fc.constantFrom('m', 'n', 1, null, ['m'], { m: 1 }, { n: 1 }),
    input: fc.constantFrom('hello', 'hello again'),
    background: fc.boolean(),
    tools: fc.array(tool, { maxLength: 3 }),
  },
  { requiredKeys: [] },
)

describe('the memo of scanned bodies', () => {
  test('gives every body of a sequence the classification that it has alone', () => {
    fc.assert(
      fc.property(fc.array(body, { minLength: 2, maxLength: 8 }), (bodies) => {
        const memo = new ScanMemo()
        for (const each of bodies) {
          const view = viewOf(each)
          expect(memo.classify(bound, request, view)).toEqual(classify(bound, request, view))
        }
      }),
    )
  })

  test('classifies once for bodies that differ only in what the scan does not keep', () => {
    const memo = new ScanMemo()
    const first = memo.classify(bound, request, viewOf({ model: 'm', tools: [{ type: 'mcp' }], input: 'a' }))
    const second = memo.classify(bound, request, viewOf({ model: 'm', tools: [{ type: 'mcp' }], input: 'b' }))
    expect(second).toBe(first)
  })

  test('gives the same bodies another classification under another Connector', () => {
    const memo = new ScanMemo()
    const other = boundOf('llm_a', { environment: 'production' })
    const view = viewOf({ model: 'm' })
    memo.classify(bound, request, view)
    expect(memo.classify(other, request, view)).toEqual(classify(other, request, view))
    expect(memo.classify(other, request, view)).not.toEqual(classify(bound, request, view))
    expect(memo.members(other, request)).toEqual(scannedMembers(other, request))
  })

  test('keeps no body whose members are large', () => {
    const memo = new ScanMemo()
    const large = () => viewOf({ model: 'm'.repeat(10_000) })
    expect(memo.classify(bound, request, large())).not.toBe(memo.classify(bound, request, large()))
  })

  test('keeps no refusal', () => {
    const memo = new ScanMemo()
    const tools = Array.from({ length: 70 }, (_, n) => ({ type: 'mcp', server_url: `https://h${n}.example` }))
    const refused = () => memo.classify(bound, request, viewOf({ tools }))
    expect(refused()).toMatchObject({ code: 'body_too_large' })
    expect(refused()).not.toBe(refused())
  })
})
