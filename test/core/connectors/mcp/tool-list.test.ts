import { describe, expect, test } from 'vitest'
import { createEventSplitter, filterEvents } from '../../../../core/connectors/mcp/event-stream.ts'
import { filterToolList, TOOL_LIST_BOUNDS, toolListIds } from '../../../../core/connectors/mcp/tool-list.ts'
import { runSliced } from '../../../../core/sliced.ts'
import fc from '../../../support/fast-check.ts'

const answer = (id: unknown, ...names: string[]) => ({
  jsonrpc: '2.0',
  id,
  result: { tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })), nextCursor: 'n' },
})
const may = (name: string) => !name.startsWith('delete')
const sliced = (text: string, ids = ['1'], mayCall = may) => filterToolList(text, new Set(ids), mayCall)
const filter = (text: string, ids?: string[]) => runSliced(sliced(text, ids))

/** The events of a stream, each filtered as soon as it is whole. */
function createEventFilter(filterData = (data: string) => sliced(data)) {
  const events = createEventSplitter()
  return {
    push(chunk: string) {
      const out: string[] = []
      events.push(chunk)
      runSliced(filterEvents(events, filterData, { out, onHidden: () => undefined }))
      return out.join('')
    },
    end: () => events.rest(),
  }
}

describe('an answer to tools/list', () => {
  test('loses only the tools that the agent may not call', () => {
    const { text, hidden } = filter(JSON.stringify(answer(1, 'read', 'delete_repo', 'list')))
    expect(JSON.parse(text)).toEqual(answer(1, 'read', 'list'))
    expect(hidden).toEqual(['delete_repo'])
  })

  test('passes byte for byte with any spacing if every tool may be called', () => {
    const text = `{ "jsonrpc":"2.0", "id":1,\n "result":{"tools":[ {"name":"read"} ]} }`
    expect(filter(text).text).toBe(text)
  })

  test('of another request passes, even when it holds tools', () => {
    const text = JSON.stringify(answer(2, 'delete_repo'))
    expect(filter(text).text).toBe(text)
    expect(filter(JSON.stringify(answer('1', 'delete_repo'))).hidden).toEqual([])
  })

  test('in a batch is found among the others', () => {
    const { text } = filter(JSON.stringify([answer(7, 'delete_repo'), answer(1, 'delete_repo', 'read')]))
    expect(JSON.parse(text)).toEqual([answer(7, 'delete_repo'), answer(1, 'read')])
  })

  test('that is none passes: an error, no JSON, a tool without a name', () => {
    for (const text of ['', 'no json', '{"id":1,"error":{}}', '{"id":1,"result":{"tools":[{},7,null]}}'])
      expect(filter(text).text).toBe(text)
  })
})

describe('work on a list', () => {
  const listOf = (count: number) => {
    const tools = Array.from({ length: count }, (_, n) => ({ name: `t${n}` }))
    return JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools } })
  }
  function counted(text: string) {
    let asked = 0
    const work = sliced(text, ['1'], () => {
      asked += 1
      return false
    })
    const slices: number[] = []
    for (;;) {
      const before = asked
      const step = work.next()
      slices.push(asked - before)
      if (step.done === true) return { slices, asked, filtered: step.value }
    }
  }

  test('decides a few names a slice', () => {
    const { slices, asked } = counted(listOf(1_000))
    expect(asked).toBe(1_000)
    expect(slices.length).toBeGreaterThan(30)
    expect(Math.max(...slices)).toBeLessThanOrEqual(32)
  })

  test.each<[string, string]>([
    ['1,001 tools', listOf(1_001)],
    ['181,000 tools', listOf(181_000)],
    ['256 KiB and more', JSON.stringify(answer(1, 'delete_repo', 'x'.repeat(TOOL_LIST_BOUNDS.chars)))],
    [
      'numbers without end',
      `{"id":1,"result":{"tools":[{"name":"delete_repo"}],"x":[${'0,'.repeat(100_000)}0]}}`,
    ],
    ['lists in lists', `{"id":1,"result":{"tools":[{"name":"delete_repo"}],"x":[${'[],'.repeat(30_000)}0]}}`],
    ['1,001 tools in two lists', `[${listOf(500)},${listOf(501)}]`],
  ])('beyond its bounds passes as it is, and no name is decided: %s', (_what, text) => {
    const { asked, filtered, slices } = counted(text)
    expect(filtered).toEqual({ text, hidden: [] })
    expect(asked).toBe(0)
    expect(slices).toHaveLength(1)
  })
})

test('the ids of tools/list requests are those of the requests, notifications and other methods aside', () => {
  expect(toolListIds({ method: 'tools/list', id: 1 })).toEqual(new Set(['1']))
  expect(
    toolListIds([{ method: 'tools/list', id: 'a' }, { method: 'tools/list' }, { method: 'ping', id: 2 }]),
  ).toEqual(new Set(['"a"']))
})

describe('a stream of events', () => {
  const list = `event: message\nid: 9\ndata: ${JSON.stringify(answer(1, 'delete_repo', 'read'))}\n\n`

  test('is filtered event by event, its other fields untouched', () => {
    const events = createEventFilter()
    expect(events.push(`: keep-alive\n\n${list}`)).toBe(
      `: keep-alive\n\nevent: message\nid: 9\ndata: ${JSON.stringify(answer(1, 'read'))}\n\n`,
    )
    expect(events.end()).toBe('')
  })

  test('forwards each complete event at once, and buffers only the incomplete one', () => {
    const events = createEventFilter()
    expect(events.push('data: {"id":5}\n\ndata: {"id"')).toBe('data: {"id":5}\n\n')
    expect(events.push(':6}\n')).toBe('')
    expect(events.push('\n')).toBe('data: {"id":6}\n\n')
  })

  test('joins data that was cut into lines', () => {
    const [head = '', tail = ''] = JSON.stringify(answer(1, 'delete_repo'), null, 1).split('"result"')
    const event = `data: ${head.replaceAll('\n', '\ndata: ')}"result"${tail.replaceAll('\n', '\ndata: ')}\n\n`
    const out = createEventFilter().push(event)
    expect(JSON.parse(out.slice('data: '.length))).toEqual(answer(1))
  })

  test('passes callable tools byte for byte at every chunk boundary', () => {
    const text = fc.stringMatching(/^(: c\n\n|data: \{"id":1\}\n\n|event: x\r\ndata: a\r\n\r\n|\n){0,6}$/)
    fc.assert(
      fc.property(text, fc.array(fc.nat(30), { maxLength: 8 }), (stream, cuts) => {
        const events = createEventFilter()
        let [out, at] = ['', 0]
        for (const cut of cuts) {
          out += events.push(stream.slice(at, at + cut))
          at += cut
        }
        out += events.push(stream.slice(at)) + events.end()
        expect(out).toBe(stream)
      }),
      { seed: 7, numRuns: 500 },
    )
  })

  test('an event that is too long to be a list passes as it arrives', () => {
    const events = createEventFilter()
    const long = `data: "tools"${'x'.repeat(TOOL_LIST_BOUNDS.chars)}`
    expect(events.push(long)).toHaveLength(long.length)
    expect(events.push(`y\n\n${list}`)).toBe(
      `y\n\nevent: message\nid: 9\ndata: ${JSON.stringify(answer(1, 'read'))}\n\n`,
    )
  })

  test('an event in single characters is searched once, and joined once', () => {
    const body = JSON.stringify(answer(1, 'delete_repo', 'read', 'x'.repeat(100_000)))
    const events = createEventFilter()
    const text = `data: ${body}\r\n\r\n`
    let out = ''
    for (const char of text) out += events.push(char)
    expect(JSON.parse(out.slice('data: '.length))).toEqual(answer(1, 'read', 'x'.repeat(100_000)))
    expect(events.end()).toBe('\n')
  })

  test.each(['\n\n', '\r\n\r\n', '\r\r', '\r\n\n', '\n\r\n'])(
    'ends at a blank line however it is cut: %j',
    (blank) => {
      const stream = `data: {"id":1}${blank}${list}`
      for (let cut = 0; cut <= stream.length; cut++) {
        const events = createEventFilter()
        const out = events.push(stream.slice(0, cut)) + events.push(stream.slice(cut)) + events.end()
        expect(out).not.toContain('delete_repo')
        expect(out).toContain('"read"')
      }
    },
  )
})
