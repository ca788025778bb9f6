import { describe, expect, test } from 'vitest'
import { createEventSplitter, filterEvents } from '../../../../core/connectors/mcp/event-stream.ts'
import type { FilteredMessage } from '../../../../core/connectors/mcp/tool-list.ts'
import type { Sliced } from '../../../../core/sliced.ts'
import fc from '../../../support/fast-check.ts'
import { HOSTILE_ANSWERS } from '../../../support/hostile-answers.ts'

/** Puts an event stream through the filter, slice by slice; what each slice took is its part of the text. */
function run(chunks: readonly string[], maxSlices = Number.POSITIVE_INFINITY) {
  const events = createEventSplitter()
  const asked: string[] = []
  const slices: { chars: number; asked: number }[] = []
  let text = ''
  let isAbandoned = false
  for (const chunk of chunks) {
    if (isAbandoned) {
      text += chunk
      continue
    }
    const out: string[] = []
    function* filter(data: string): Sliced<FilteredMessage> {
      asked.push(data)
      yield
      return { text: data, hidden: [] }
    }
    events.push(chunk)
    const work = filterEvents(events, filter, { out, onHidden: () => undefined })
    for (let pieces = 0, before = asked.length; ; ) {
      if (slices.length >= maxSlices) {
        isAbandoned = true
        break
      }
      const { done } = work.next()
      const chars = out.slice(pieces).reduce((sum, piece) => sum + piece.length, 0)
      slices.push({ chars, asked: asked.length - before })
      pieces = out.length
      before = asked.length
      if (done === true) break
    }
    text += out.join('') + (isAbandoned ? events.rest() : '')
  }
  return { text: text + (isAbandoned ? '' : events.rest()), asked, slices }
}

describe('a stream of events', () => {
  test.each(HOSTILE_ANSWERS)('of %s is taken in small slices, and passes byte for byte', (_name, body) => {
    const whole = run([body])
    expect(whole.text === body).toBe(true)
    for (const slice of whole.slices) {
      expect(slice.asked).toBeLessThanOrEqual(1)
      // The event that crosses the bound is part of the slice.
      expect(slice.chars).toBeLessThanOrEqual(17 * 1024)
    }
  })

  test('of two bytes each yields after every 64 of them', () => {
    const { slices } = run(['\n\n'.repeat(6_400)])
    expect(slices).toHaveLength(101)
    expect(Math.max(...slices.map(({ chars }) => chars))).toBe(128)
  })

  test.each([
    ['text', 'tools'],
    ['a number', '1 tools'],
    ['a string', '"tools"'],
    ['a literal', 'null tools'],
    ['an escape', '\\u007b"tools"'],
    ['other white space', '\u00a0{"tools"}'],
    ['an object behind text', 'x {"tools":[]}'],
    ['nothing', ''],
  ])('whose data is %s is not parsed', (_what, data) => {
    const { asked, text } = run([`data:${data}\n\n`])
    expect([asked, text]).toEqual([[], `data:${data}\n\n`])
  })

  test.each([
    ['an object', 'data:{"tools":[]}\n\n'],
    ['a list', 'data: [{"tools":1}]\r\n\r\n'],
    ['white space before', 'data: \t {"tools":1}\r\r'],
    ['blank lines of data before', 'data:\ndata: \ndata: {"tools":1}\n\n'],
    ['a first line that is a field', 'event: message\nid: 1\ndata: {"tools":1}\n\n'],
    ['data in two lines', 'data: {\ndata: "tools":1}\n\n'],
    ['escapes', 'data: {"\\u0074ools":1}\n\n'],
  ])('with %s is looked at', (_what, event) => {
    expect(run([event]).asked).toHaveLength(1)
  })

  test('is the same text however it is cut and wherever its work is abandoned', () => {
    const piece = fc.constantFrom('\n', '\r', '\r\n', 'data:', '{"tools":1}', 'x', ' ', ':', 'é'.repeat(9))
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 60 }),
        fc.array(fc.nat(40)),
        fc.nat(40),
        (pieces, cuts, max) => {
          const all = pieces.join('')
          const chunks = cutInto(all, cuts)
          expect(run(chunks).text).toBe(all)
          expect(run(chunks, max).text).toBe(all)
          expect(run(chunks).asked).toEqual(run([all]).asked)
        },
      ),
    )
  })
})

function cutInto(text: string, lengths: readonly number[]): string[] {
  const chunks: string[] = []
  let at = 0
  for (const length of lengths) {
    chunks.push(text.slice(at, at + length))
    at += length
  }
  return [...chunks, text.slice(at)]
}
