/** A response to `tools/list`: an event stream of 1 MiB that takes a filter an unusually long time for each byte. */
export type HostileAnswer = readonly [name: string, body: string]

const SIZE = 1024 * 1024
const fill = (piece: string) => piece.repeat(Math.floor(SIZE / piece.length))
const LIST = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"delete_x"}]}}'

export const HOSTILE_ANSWERS: readonly HostileAnswer[] = [
  ['blank lines', fill('\n')],
  ['blank lines of CR', fill('\r')],
  ['blank lines of CRLF', fill('\r\n')],
  ['comments', fill(':\n\n')],
  ['events without data', fill('id:1\n\n')],
  ['events with no JSON', fill('data:tools\n\n')],
  ['events with a number', fill('data:1 "tools"\n\n')],
  ['events with escapes', fill('data:"\\u"\n\n')],
  ['events with an open brace', fill('data:{"tools"\n\n')],
  ['events with an open bracket', fill('data:["tools"\n\n')],
  ['events with a brace in the second line', fill('data:\ndata:{"tools"\n\n')],
  ['events of many lines', fill(`${'data:\n'.repeat(100)}data:{"tools"\n\n`)],
  ['events of one list each', fill(`data:${LIST}\n\n`)],
  ['lists of another request', fill(`data:${LIST.replace('"id":1', '"id":2')}\n\n`)],
  ['events with white space', fill(`data:${' '.repeat(200)}{"tools"\n\n`)],
]
