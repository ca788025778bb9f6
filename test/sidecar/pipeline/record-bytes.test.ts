import { expect, test } from 'vitest'
import { createRecordBytes } from '../../../sidecar/pipeline/record/record-bytes.ts'

const TEXTS = ['{"a":1}', '{"path":"/é/☃/😀"}', `{"long":"${'é'.repeat(9_000)}"}`, '{}']

test('every record keeps its own UTF-8 bytes while thousands follow', () => {
  const bytesOf = createRecordBytes()
  const records = Array.from({ length: 5_000 }, (_, n) => `{"n":${n},"of":${TEXTS[n % TEXTS.length]}}`)
  const made = records.map((json) => bytesOf(Buffer.from(json)))
  expect(made.map(String)).toEqual(records)
})

test('the buffer of a record is shared with records only', () => {
  const bytesOf = createRecordBytes()
  const others = () => [Buffer.from('head'), Buffer.allocUnsafe(100), Buffer.concat([Buffer.from('body')])]
  const before = others()
  const records = Array.from({ length: 100 }, (_, n) => bytesOf(Buffer.from(`{"n":${n}}`)))
  const foreign = new Set<ArrayBufferLike>([...before, ...others()].map(({ buffer }) => buffer))
  expect(records.filter(({ buffer }) => foreign.has(buffer))).toEqual([])
  expect(new Set(records.map(({ buffer }) => buffer)).size).toBe(1)
})
