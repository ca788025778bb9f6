import { LIMITS } from '../../core/wire/schema/limits.ts'
import type { Rules } from '../sidecar/pipeline/test-world.ts'
import { type GitObject, packOf, pushBody } from './git-pack.ts'

const MIB = LIMITS.decidingBodyBytes
const SIZE = MIB - 64
/** Joins as many pieces as fit into `bytes`. */
function fill(piece: (n: number) => string, separator: string, bytes = SIZE): string {
  const pieces: string[] = []
  for (let length = 0, n = 0; ; n++) {
    const next = piece(n)
    length += next.length + separator.length
    if (length > bytes) return pieces.join(separator)
    pieces.push(next)
  }
}
const list = (piece: string) => `{"state":"open","a":[${fill(() => piece, ',')}]}`
const keyed = (piece: (key: string) => string) => `{${fill((n) => piece(n.toString(36)), ',')}}`
const query = (document: string) => JSON.stringify({ query: document })

/** Rules for the hostile inputs. The decision on each input depends on its body, so the gateway must parse the body. */
export const HOSTILE_RULES: Rules = {
  connectors: [
    { type: 'codehost' },
    { type: 'mcp', name: 'tools', domains: ['tools.example'], auth: { type: 'bearer' } },
    { type: 'chat', name: 'chat', domains: ['slack.com'], auth: { type: 'bearer' } },
  ],
  permissions: [
    ['codehost.pr.update', 'allow'],
    ['codehost.git.push', 'allow'],
    ['codehost.issue.*', 'allow'],
    ['mcp.tools.read', 'allow'],
    ['chat.*', 'allow'],
  ],
  policies: [
    {
      document: {
        scope: { actions: ['codehost.pr.update'] },
        rules: [
          {
            name: 'patterns',
            conditions: ['parameters.title.matches("(?:a?){200}a{200}")'],
            decision: 'deny',
          },
          {
            name: 'lists',
            conditions: ['parameters.labels.exists(l, l == "production")'],
            decision: 'deny',
          },
        ],
      },
    },
  ],
}

const JSON_TYPE = 'application/json'
const FORM = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data; boundary=b'
const PATCH = { method: 'PATCH', target: '/repos/acme/site/pulls/7', host: 'api.github.com', type: JSON_TYPE }
const GRAPHQL = { method: 'POST', target: '/graphql', host: 'api.github.com', type: JSON_TYPE }
const CALL = { method: 'POST', target: '/mcp', host: 'tools.example', type: JSON_TYPE }
const CHAT = { method: 'POST', target: '/api/chat.postMessage', host: 'slack.com', type: FORM }
const PUSH = { method: 'POST', target: '/acme/site.git/git-receive-pack', host: 'github.com', type: 'x/y' }
const PARTS = { ...CHAT, type: MULTIPART }

const part = (content: string, head = 'Content-Disposition: form-data; name="channel"') =>
  `--b\r\n${head}\r\n\r\n${content}\r\n`
const disposition = (n: number) => `--b\r\nContent-Disposition: form-data; name="f${n}"\r\n\r\n\r\n`
const call = (rest: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"erase"${rest}}}`

const [OLD, NEW] = ['1'.repeat(40), '2'.repeat(40)]
const update = (pack: Buffer) => pushBody([{ before: OLD, after: NEW, ref: 'refs/heads/main' }], pack)
const bomb = (type: GitObject['type']) => update(packOf([{ type, data: Buffer.alloc(64 * MIB) }]))
const delta = (base: string | { back: number }) =>
  update(
    packOf([
      { type: 'commit', data: Buffer.from('x') },
      { base, delta: Buffer.alloc(64 * MIB) },
    ]),
  )

type Place = typeof PATCH
/** Name of the case, destination of the request, body, and expected status of the response. */
export type HostileInput = readonly [name: string, place: Place, body: string | Buffer, status: number]
/** Request bodies of about 1 MiB that take parsers the longest time. */
export const HOSTILE_INPUTS: readonly HostileInput[] = [
  // JSON bodies
  ['lists in a list', PATCH, list('[]'), 413],
  ['objects in a list', PATCH, list('{}'), 413],
  ['numbers without end', PATCH, list('0'), 413],
  ['short texts without end', PATCH, list('""'), 413],
  ['small keys', PATCH, keyed((key) => `"${key}":0`), 413],
  ['escaped keys', PATCH, keyed((key) => `"\\u0061${key}":0`), 413],
  ['keys that fold', PATCH, keyed((key) => `"\u017f${key}":0`), 413],
  ['keys of many objects', PATCH, list('{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0}'), 413],
  ['nesting at the bound, often', PATCH, list('['.repeat(60) + ']'.repeat(60)), 413],
  ['nesting beyond the bound', PATCH, `${'['.repeat(SIZE / 2)}${']'.repeat(SIZE / 2)}`, 400],
  ['nesting that never ends', PATCH, '['.repeat(SIZE), 400],
  ['objects that never end', PATCH, '{"a":'.repeat(SIZE / 5), 400],
  ['a key of 1 MiB', PATCH, `{"${'k'.repeat(SIZE)}":0}`, 403],
  ['a key that becomes 18 MiB', PATCH, `{"${'\ufdfa'.repeat(SIZE / 3 - 10)}":0}`, 403],
  ['a text of backslashes', PATCH, `{"state":"closed","a":"${'\\\\'.repeat(SIZE / 2 - 20)}"}`, 403],
  ['a text of escaped quotes', PATCH, `{"state":"closed","a":"${'\\"'.repeat(SIZE / 2 - 20)}"}`, 403],
  ['blanks', PATCH, `{"state":"closed"${' '.repeat(SIZE - 40)}}`, 403],
  ['commas', PATCH, `{${','.repeat(SIZE)}}`, 413],
  ['a number of 1 MiB', PATCH, `{"state":"closed","n":${'1'.repeat(SIZE - 40)}}`, 403],
  ['keys, and no end', PATCH, keyed((key) => `"${key}":0`).slice(0, -1), 413],
  // JSON bodies that are slow for CEL conditions
  ['a pattern at its worst', PATCH, `{"title":"${'a'.repeat(65_000)}"}`, 403],
  ['a list for a comprehension', PATCH, `{"title":"t","labels":[${fill(() => '"x"', ',', 100_000)}]}`, 403],
  // GraphQL documents
  ['a document of 1 MiB', GRAPHQL, query(`{viewer{login}}#${'x'.repeat(MIB / 2)}`), 413],
  ['lines before an error', GRAPHQL, query(`${'\n'.repeat(MIB / 3)}{`), 413],
  ['fields in fields', GRAPHQL, query(`${'{a'.repeat(15_000)}${'}'.repeat(15_000)}`), 400],
  ['fields beside fields', GRAPHQL, query(`{${'a '.repeat(100_000)}}`), 400],
  [
    'fragments that double',
    GRAPHQL,
    query(
      `{...f0}${Array.from({ length: 400 }, (_, n) => `fragment f${n} on Q{...f${n + 1} ...f${n + 1}}`).join('')}fragment f400 on Q{a}`,
    ),
    403,
  ],
  ['inline fragments', GRAPHQL, query(`{${'...{'.repeat(6_000)}a${'}'.repeat(6_001)}`), 400],
  [
    'a batch of large documents',
    GRAPHQL,
    JSON.stringify(Array.from({ length: 16 }, () => ({ query: `{${'a '.repeat(9_000)}}` }))),
    413,
  ],
  [
    'a batch of tokens',
    GRAPHQL,
    JSON.stringify(Array.from({ length: 16 }, () => ({ query: `{${'a '.repeat(7_000)}}` }))),
    400,
  ],
  // MCP messages
  ['arguments without end', CALL, call(`,"arguments":{"a":[${fill(() => '[]', ',', SIZE - 200)}]}`), 413],
  ['a batch of 64 calls too many', CALL, `[${fill(() => call(''), ',')}]`, 413],
  ['members of _meta', CALL, call(`,"_meta":${keyed((key) => `"${key}":0`).slice(0, SIZE - 200)}}`), 413],
  ['comments that never end', CALL, '/*'.repeat(SIZE / 2), 400],
  // Form bodies
  ['fields without names', CHAT, '&'.repeat(SIZE), 413],
  ['fields with a name', CHAT, fill(() => 'a=b', '&'), 413],
  ['semicolons', CHAT, ';'.repeat(SIZE), 413],
  ['lists in brackets', CHAT, fill((n) => `a[${n}]=b`, '&'), 413],
  ['percent escapes', CHAT, fill(() => '%61=%62', '&'), 413],
  // Multipart bodies
  ['100,000 parts', PARTS, `${fill(disposition, '', SIZE)}--b--\r\n`, 415],
  ['boundaries that are none', PARTS, `${part('\n--'.repeat(MIB / 4))}--b--\r\n`, 200],
  ['a line that looks like a boundary', PARTS, `${part('\n--b\n'.repeat(MIB / 8))}--b--\r\n`, 415],
  ['header fields of a part', PARTS, `${part('', 'Content-Type: x\r\n'.repeat(MIB / 20))}--b--\r\n`, 415],
  // Git pushes
  ['a commit of 64 MiB', PUSH, bomb('commit'), 403],
  ['a tag of 64 MiB', PUSH, bomb('tag'), 403],
  ['a tree of 64 MiB', PUSH, bomb('tree'), 403],
  ['a blob of 64 MiB', PUSH, bomb('blob'), 403],
  ['a delta of 64 MiB to an offset', PUSH, delta({ back: 20 }), 403],
  ['a delta of 64 MiB to an id', PUSH, delta('a'.repeat(40)), 403],
  ['references without end', PUSH, Buffer.from('0005x'.repeat(MIB / 5)), 400],
  [
    'an entry whose size never ends',
    PUSH,
    update(Buffer.from(`PACK\0\0\0\x02\0\0\0\x01${'\xff'.repeat(100)}`, 'latin1')),
    403,
  ],
]
