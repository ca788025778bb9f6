import { describe, expect, test } from 'vitest'
import type { Action, Effect, RiskLevel } from '../../../core/action/action.ts'
import type { Row } from '../../../core/connectors/connector.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import fc from '../../support/fast-check.ts'
import { boundOf, nameRequest } from '../connectors/golden.ts'
import { type HostileRequest, hostileRequest, type Members } from './hostile-request.ts'
import { READERS, readPath, rowsFor } from './lenient-readers.ts'
import { LONG_MS, runs } from './runs.ts'

const BOUND = {
  codehost: boundOf('codehost'),
  llm_a: boundOf('llm_a'),
  llm_b: boundOf('llm_b'),
  llm_c: boundOf('llm_c'),
  payments: boundOf('payments'),
  chat: boundOf('chat'),
}
const EFFECTS: readonly Effect[] = ['read', 'compute', 'write']
const RISKS: readonly RiskLevel[] = ['low', 'medium', 'high']

/** Our own reading: every action it may be, or null when we refuse. */
function ours({ provider, raw, body }: HostileRequest): readonly Action[] | null {
  const named = nameRequest(BOUND[provider], raw, body)
  if (isRefusal(named)) return null
  return named.kind === 'actions' ? named.actions : named.candidates
}

/** The methods under which servers may run it: its own in capitals, and whatever would override it. */
function methodsOf({ raw, members }: HostileRequest): readonly string[] {
  const methods = new Set([raw.method.toUpperCase()])
  for (let at = 0; at < raw.rawHeaders.length; at += 2) {
    const name = (raw.rawHeaders[at] ?? '').toLowerCase().replaceAll('_', '-')
    if (/^x-(http-)?method(-override)?$/.test(name)) methods.add(raw.rawHeaders[at + 1] ?? '')
  }
  const overriding = /[?&](?:_method|x-http-method-override)=([A-Z]+)/.exec(raw.target)
  if (overriding?.[1] !== undefined) methods.add(overriding[1])
  for (const [key, value] of members) if (key === '_method') methods.add(String(value))
  return [...methods]
}

/** What a member is to those who take the first, the last, or fold what comes close; whatever the label says. */
function bodyReadings(members: Members): ReadonlyArray<ReadonlyMap<string, unknown>> {
  const folded = members.map(
    ([key, value]) => [key.normalize('NFKC').toUpperCase().toLowerCase().replace('\0', ''), value] as const,
  )
  return [members, folded].flatMap((list) => [new Map(list), new Map([...list].reverse())])
}

/** Returns the row that such a server runs. The server selects the row among similar rows by the body. */
function chosen(rows: readonly Row[], values: ReadonlyMap<string, unknown>): Row | undefined {
  const holds = ({ when }: Row) => {
    if (when === undefined) return true
    if ('equals' in when) return values.get(when.key) === when.equals
    return 'present' in when && typeof values.get(when.key) === when.present
  }
  return rows.find(holds) ?? rows.find(({ when }) => when !== undefined && 'otherwise' in when)
}

/** Everything that a server of any of these habits may take the request for. */
function readings(request: HostileRequest): ReadonlySet<Row> {
  const found = new Set<Row>()
  const path = request.raw.target.split('?')[0] ?? ''
  const bodies = bodyReadings(request.members)
  for (const habits of READERS) {
    const segments = readPath(path, habits)
    for (const method of methodsOf(request)) {
      const rows = rowsFor(request.provider, { method, segments, ignoresCase: habits.ignoresCase })
      for (const values of bodies) {
        const row = chosen(rows, values)
        if (row !== undefined) found.add(row)
      }
    }
  }
  return found
}

function isStricter(row: Row, than: readonly Action[]): boolean {
  if (than.every((action) => action.unmapped === true)) return true
  const risk = Math.max(...than.map((action) => RISKS.indexOf(action.risk)))
  const effect = Math.max(...than.map((action) => EFFECTS.indexOf(action.effect)))
  return RISKS.indexOf(row.risk) > risk || EFFECTS.indexOf(row.effect) > effect
}

describe('a malformed request', () => {
  test(
    'is refused if a lenient server would perform a stricter operation than its name, or a listed one for a request without a row',
    () => {
      const seen = { refused: 0, named: 0 }
      fc.assert(
        fc.property(hostileRequest, (request) => {
          const actions = ours(request)
          if (actions === null) {
            seen.refused += 1
            return
          }
          seen.named += 1
          const weaker = [...readings(request)].filter((row) => isStricter(row, actions))
          const names = actions.map(({ type, risk }) => `${type} (${risk})`).join(' or ')
          expect(weaker.map(({ type, risk }) => `${type} (${risk}), called ${names}`)).toEqual([])
        }),
        runs(6_000),
      )
      // Both must happen often, or nothing was shown.
      expect(seen.refused).toBeGreaterThan(1_000)
      expect(seen.named).toBeGreaterThan(1_000)
    },
    LONG_MS,
  )
})
