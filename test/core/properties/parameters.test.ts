import { describe, expect, test } from 'vitest'
import { isRefusal } from '../../../core/request/canonical.ts'
import fc from '../../support/fast-check.ts'
import { boundOf, nameRequest } from '../connectors/golden.ts'
import { LONG_MS, runs } from './runs.ts'

const BOUND = { payments: boundOf('payments'), chat: boundOf('chat') }

/** Operations with parameters that policies read, and those parameters. */
const OPERATIONS = [
  { provider: 'payments', target: '/v1/charges', names: ['amount', 'currency', 'customer'] },
  { provider: 'payments', target: '/v1/payouts', names: ['amount', 'destination'] },
  { provider: 'chat', target: '/api/chat.postMessage', names: ['channel', 'text'] },
] as const

const text = fc.stringMatching(/^[1-9a-z]{1,4}$/)
const given = fc.constantFrom(...OPERATIONS).chain(({ provider, target, names }) => {
  const pair = fc.tuple(fc.constantFrom(...names), text)
  return fc.record({
    provider: fc.constant(provider),
    target: fc.constant(target),
    query: fc.array(pair, { maxLength: 2 }),
    body: fc.array(pair, { maxLength: 3 }),
    isJson: fc.boolean(),
  })
})

describe('parameters', () => {
  test(
    'hold every value that a server could take: of the query or the body, the first or the last',
    () => {
      fc.assert(
        fc.property(given, ({ provider, target, query, body, isJson }) => {
          const form = (pairs: ReadonlyArray<readonly [string, string]>) =>
            pairs.map(([name, value]) => `${name}=${value}`).join('&')
          const content = isJson
            ? `{${body.map(([name, value]) => `"${name}":"${value}"`).join(',')}}`
            : form(body)
          const type = isJson ? 'application/json' : 'application/x-www-form-urlencoded'
          const named = nameRequest(
            BOUND[provider],
            {
              method: 'POST',
              target: query.length === 0 ? target : `${target}?${form(query)}`,
              rawHeaders: [
                'Host',
                provider === 'chat' ? 'slack.com' : 'api.stripe.com',
                'Content-Type',
                type,
              ],
              httpVersion: '1.1',
              scheme: 'https',
              sources: {},
            },
            content,
          )
          const isDouble = new Set(body.map(([name]) => name)).size < body.length
          if (isRefusal(named)) return
          const [action] = named.kind === 'actions' ? named.actions : named.candidates
          for (const [name, value] of [...query, ...(isJson && isDouble ? [] : body)]) {
            const known = [action?.parameters[name]].flat().map(String)
            expect(known, `${name} of ${action?.type}`).toContain(value)
          }
        }),
        runs(2_000),
      )
    },
    LONG_MS,
  )
})
