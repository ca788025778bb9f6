import { describe, expect, test } from 'vitest'
import { createEventFilter, filterToolList, toolListIds } from '../../../core/connectors/mcp/tool-list.ts'
import fc from '../../support/fast-check.ts'

const answer = (id: unknown, ...names: string[]) => ({
  jsonrpc: '2.0',
  id,
  result: { tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })), nextCursor: 'n' },
})
const may = (name: string) => !name.startsWith('delete')
const filter = (text: string, ids = ['1']) => filterToolList(text, new Set(ids), may)

describe('an answer to tools/list', () => {
  test('loses the tools that the agent may not call, and nothing else', () => {
    const { text, hidden } = filter(JSON.stringify(answer(1, 'read', 'delete_repo', 'list')))
    expect(JSON.parse(text)).toEqual(answer(1, 'read', 'list'))
    expect(hidden).toEqual(['delete_repo'])
  })

  test('passes byte for byte when everything may be called, whatever its spacing', () => {
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

test('the ids of tools/list requests are those of the requests, notifications and other methods aside', () => {
  expect(toolListIds({ method: 'tools/list', id: 1 })).toEqual(new Set(['1']))
  expect(
    toolListIds([{ method: 'tools/list', id: 'a' }, { method: 'tools/list' }, { method: 'ping', id: 2 }]),
  ).toEqual(new Set(['"a"']))
})

describe('a stream of events', () => {
  const rewrite = (data: string) => filter(data).text
  const list = `event: message\nid: 9\ndata: ${JSON.stringify(answer(1, 'delete_repo', 'read'))}\n\n`

  test('is filtered event by event, its other fields untouched', () => {
    const events = createEventFilter(rewrite)
    expect(events.push(`: keep-alive\n\n${list}`)).toBe(
      `: keep-alive\n\nevent: message\nid: 9\ndata: ${JSON.stringify(answer(1, 'read'))}\n\n`,
    )
    expect(events.end()).toBe('')
  })

  test('lets each event go as soon as it is whole, and holds back nothing but the event under way', () => {
    const events = createEventFilter(rewrite)
    expect(events.push('data: {"id":5}\n\ndata: {"id"')).toBe('data: {"id":5}\n\n')
    expect(events.push(':6}\n')).toBe('')
    expect(events.push('\n')).toBe('data: {"id":6}\n\n')
  })

  test('joins data that was cut into lines', () => {
    const [head = '', tail = ''] = JSON.stringify(answer(1, 'delete_repo'), null, 1).split('"result"')
    const event = `data: ${head.replaceAll('\n', '\ndata: ')}"result"${tail.replaceAll('\n', '\ndata: ')}\n\n`
    const out = createEventFilter(rewrite).push(event)
    expect(JSON.parse(out.slice('data: '.length))).toEqual(answer(1))
  })

  test('however it is cut, what may be called passes byte for byte', () => {
    const text = fc.stringMatching(/^(: c\n\n|data: \{"id":1\}\n\n|event: x\r\ndata: a\r\n\r\n|\n){0,6}$/)
    fc.assert(
      fc.property(text, fc.array(fc.nat(30), { maxLength: 8 }), (stream, cuts) => {
        const events = createEventFilter(rewrite)
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

  test('an event that is too long to be a list passes while it is under way', () => {
    const events = createEventFilter(() => 'never')
    const long = `data: ${'x'.repeat(5 * 1024 * 1024)}`
    expect(events.push(long)).toHaveLength(long.length)
    expect(events.push('y\n\ndata: z\n\n')).toBe('y\n\ndata: never\n\n')
  })
})
