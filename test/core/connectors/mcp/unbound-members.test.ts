import { describe, expect, it } from 'vitest'
import type { ConnectorConfig } from '../../../../core/connectors/connector.ts'
import { maskMembers } from '../../../../core/connectors/fields/json-members.ts'
import { nameMessage } from '../../../../core/connectors/mcp/message.ts'
import { UNBOUND, undescribedMembers } from '../../../../core/connectors/mcp/unbound.ts'
import { isRefusal } from '../../../../core/request/canonical.ts'
import fc from '../../../support/fast-check.ts'

const CONFIG: ConnectorConfig = { name: 'tools', domains: ['tools.example'], actions: [] }

const KEYS = [
  ...['id', 'params', '_meta', 'progressToken', 'traceparent', 'claudecode/toolUseId', 'vscode.requestId'],
  ...[
    'x-codex-turn-metadata',
    'turn_id',
    'name',
    'arguments',
    'uri',
    'method',
    'account',
    'vscode',
    '__proto__',
  ],
]

const { value: VALUE } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'large' },
    fc.constantFrom('a', 'b', 'p"}{,:', 1, 2, 1.5, -3, true, false, null, 'x'.repeat(600)),
    fc.array(tie('value'), { maxLength: 2 }),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom(...KEYS), tie('value')), {
        selector: ([key]) => key,
        maxLength: 4,
      })
      .map((pairs) => Object.fromEntries(pairs)),
  ),
}))

const MESSAGE = fc.record(
  {
    jsonrpc: fc.constantFrom<unknown>('2.0', '2.0', '2.0', '1.0', 2),
    id: VALUE,
    method: fc.constantFrom<unknown>(
      'tools/call',
      'tools/call',
      'prompts/get',
      'x/y',
      'No Method!',
      '',
      7,
      null,
    ),
    params: fc.oneof(
      VALUE,
      fc.record(
        {
          name: fc.oneof(fc.constantFrom<unknown>('pay', '', 7), VALUE),
          arguments: VALUE,
          uri: VALUE,
          _meta: VALUE,
          task: VALUE,
        },
        { requiredKeys: [] },
      ),
    ),
    result: VALUE,
    extra: VALUE,
  },
  { requiredKeys: [] },
)

/** The value with every unbound member replaced: written apart from the code that masks the text. */
function bound(value: unknown, path: readonly string[] = []): unknown {
  const isUnbound = UNBOUND.some(
    (one) => one.length === path.length && one.every((key, at) => key === path[at]),
  )
  if (isUnbound && (typeof value === 'number' || (typeof value === 'string' && value.length < 500)))
    return { masked: true }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => bound(one, [...path, '[]']))
  return { members: Object.entries(value).map(([key, one]) => [key, bound(one, [...path, key])]) }
}

describe('the members of an MCP message', () => {
  it('are bound but for the documented ones', () => {
    fc.assert(
      fc.property(MESSAGE, MESSAGE, (one, other) => {
        const isSame =
          maskMembers(JSON.stringify(one), UNBOUND) === maskMembers(JSON.stringify(other), UNBOUND)
        expect(isSame).toBe(JSON.stringify(bound(one)) === JSON.stringify(bound(other)))
      }),
      { numRuns: 2_000 },
    )
  })

  it('are bound but for the documented ones where one place differs', () => {
    fc.assert(
      fc.property(MESSAGE, fc.constantFrom(...UNBOUND), VALUE, VALUE, (message, path, one, other) => {
        const [first, second] = [withMember(message, path, one), withMember(message, path, other)]
        const isSame =
          maskMembers(JSON.stringify(first), UNBOUND) === maskMembers(JSON.stringify(second), UNBOUND)
        expect(isSame).toBe(JSON.stringify(bound(first)) === JSON.stringify(bound(second)))
      }),
      { numRuns: 2_000 },
    )
  })

  it('are on the card where they are bound', () => {
    fc.assert(
      fc.property(fc.oneof(MESSAGE, fc.array(MESSAGE, { minLength: 1, maxLength: 3 })), (body) => {
        const marked = mark(body)
        const card = JSON.stringify([undescribedMembers(marked.body, CONFIG), ...toldIn(marked.body)])
        for (const { leaf, path } of marked.leaves) {
          const isNamed = path.length === 1 && (path[0] === 'jsonrpc' || path[0] === 'method')
          if (!isNamed && !isUnbound(path)) expect(card, path.join(' > ')).toContain(leaf)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

function isUnbound(path: readonly string[]): boolean {
  return UNBOUND.some((one) => JSON.stringify(one) === JSON.stringify(path))
}

function withMember(message: object, [key = '', ...below]: readonly string[], value: unknown): object {
  const entries = new Map(Object.entries(message))
  const known = entries.get(key)
  const inner = typeof known === 'object' && known !== null && !Array.isArray(known) ? known : {}
  entries.set(key, below.length === 0 ? value : withMember(inner, below, value))
  return Object.fromEntries(entries)
}

/** Every value that is no object becomes a text of its own, but for those that name the call. */
function mark(body: object): { body: unknown; leaves: Array<{ leaf: string; path: readonly string[] }> } {
  const leaves: Array<{ leaf: string; path: readonly string[] }> = []
  const visit = (value: unknown, path: readonly string[]): unknown => {
    if (Array.isArray(value)) return value.map((one) => visit(one, [...path, '[]']))
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, visit(one, [...path, key])]))
    if (['jsonrpc', 'method', 'params.name'].includes(path.join('.'))) return value
    const leaf = `<leaf ${leaves.length}>`
    leaves.push({ leaf, path })
    return leaf
  }
  const marked = Array.isArray(body) ? body.map((one) => visit(one, [])) : visit(body, [])
  return { body: marked, leaves }
}

function toldIn(body: unknown): readonly unknown[] {
  return (Array.isArray(body) ? body : [body]).flatMap((message) => {
    const action = nameMessage(message, CONFIG)
    return isRefusal(action) ? [] : [action.parameters]
  })
}
