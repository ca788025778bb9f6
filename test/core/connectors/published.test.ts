import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isBeside } from '../../../core/action/action.ts'
import { createCatalogue } from '../../../core/connectors/catalogue.ts'
import { MUTATION_TABLE } from '../../../core/connectors/codehost/graphql/mutation-table.ts'
import { isProviderKind } from '../../../core/connectors/provider-side/kinds.ts'
import { bindConnector } from '../../../core/connectors/registry.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { coverageOf, nameOperation, readOperations } from '../../../scripts/catalogue/coverage.ts'
import { entryOf, nameRequest } from './golden.ts'

const PROVIDERS = [
  ['codehost', 1223],
  ['llm_a', 277],
  ['llm_b', 281],
  ['llm_c', 197],
  ['payments', 650],
  ['chat', 280],
] as const
const catalogue = createCatalogue()

function published(type: string) {
  const list = readFileSync(new URL(`../../golden/published/${type}.tsv`, import.meta.url), 'utf8')
  return readOperations(list)
}

describe.each(PROVIDERS)('published operations of %s', (type, count) => {
  const coverage = coverageOf(type, published(type), catalogue.rows(type))

  test('is named whole', () => {
    expect(coverage).toMatchObject({ operations: count, named: count, unmapped: [] })
    expect(coverage.reads + coverage.computes + coverage.writes).toBe(count)
  })

  test('has no two writes under one name that are not declared the same operation', () => {
    expect(coverage.doubled).toEqual([])
    expect(coverage.inconsistent).toEqual([])
  })

  test('keeps to the grammar of names: connector, singular resource, verb', () => {
    // A GraphQL field keeps the spelling of its service.
    const names = catalogue.rows(type).filter((row) => !row.type.startsWith('codehost.graphql.'))
    for (const { type: name } of names) expect(name).toMatch(/^[a-z_]+\.[a-z0-9_]+\.[a-z0-9_]+$/)
  })
})

test('reports a removed operation, and an operation without a name', () => {
  const operations = [{ method: 'POST', template: '/repos/{owner}/{repo}/no-such-thing', id: 'x' }]
  expect(coverageOf('codehost', operations, []).unmapped).toEqual([
    'POST /repos/{owner}/{repo}/no-such-thing',
  ])
})

test('reports two writes under one name unless one is declared the same operation', () => {
  const row = { type: 'chat.x.do', effect: 'write', risk: 'low' } as const
  expect(coverageOf('chat', [], [row, row]).doubled).toEqual(['chat.x.do'])
  expect(coverageOf('chat', [], [row, { ...row, isAlternative: true }]).doubled).toEqual([])
})

test('older addresses of an operation have its name', () => {
  const name = (method: string, template: string) => nameOperation('codehost', { method, template })[0]?.type
  expect(name('DELETE', '/teams/{team_id}')).toBe(name('DELETE', '/orgs/{org}/teams/{team_slug}'))
  expect(name('PUT', '/teams/{team_id}/repos/{owner}/{repo}')).toBe('codehost.team_repo.set')
  expect(name('DELETE', '/orgs/{org}/attestations/digest/{digest}')).toBe('codehost.attestation.delete')
})

/** Only beside `codehost.branch.create`. */
const BESIDE = new Set(['codehost.tag.create', 'codehost.ref.create'])

describe.each(PROVIDERS)('an action spec of %s', (type) => {
  test('becomes a request that is named like the action it was made from', () => {
    const bound = bindConnector(entryOf(type))
    const names = new Set(catalogue.rows(type).flatMap((row) => (row.effect === 'read' ? [] : [row.type])))
    for (const name of names) {
      if (isProviderKind(name.slice(name.indexOf('.') + 1)) || BESIDE.has(name)) continue
      if (name.startsWith('codehost.git.') || name.startsWith('codehost.graphql.')) continue
      const spec = {
        type: name,
        resource: { provider: type, target: 'acme/site' },
        parameters: parametersOf(type, name),
      }
      const request = bound.connector.toRequest?.(spec, bound.config)
      if (request === undefined || isRefusal(request)) throw new Error(`${name}: ${JSON.stringify(request)}`)
      const raw = {
        method: request.method,
        target: request.target,
        rawHeaders: ['Host', request.host, ...request.headers],
        httpVersion: '1.1',
        scheme: 'https',
        sources: {},
      } as const
      const named = nameRequest(bound, raw, request.body ?? '')
      const own = named.kind === 'actions' ? named.actions.filter((action) => !isBeside(action)) : []
      expect(named.kind === 'actions' ? own.map((action) => action.type) : named, name).toEqual([name])
    }
  })
})

/** A value for every parameter of the rows of that name, and for the key that tells them from their neighbours. */
function parametersOf(type: string, name: string): Record<string, unknown> {
  const own = catalogue.rows(type).filter((row) => row.type === name)
  const words = own.flatMap((row) =>
    [...(row.template ?? '').matchAll(/\{([a-z0-9_]+)[+/]?\}/g)].map(([, word = '']) => word),
  )
  const values = Object.fromEntries(words.map((word) => [word, word.includes('number') ? 7 : 'x1']))
  return name === 'codehost.file.update' ? { ...values, sha: 'abc' } : values
}

test('a GraphQL field that is equivalent to a REST operation has the name of a table row', () => {
  for (const [field, rows] of MUTATION_TABLE) {
    for (const row of rows) expect(catalogue.knownAction(`codehost.${row.action}`), field).not.toBeNull()
  }
})

test('the second generation of the payment provider is sent JSON, the first a form', () => {
  const bound = bindConnector(entryOf('payments'))
  const typeOf = (type: string, parameters: Record<string, unknown>) => {
    const request = bound.connector.toRequest?.(
      { type, resource: { provider: 'payments' }, parameters },
      bound.config,
    )
    if (request === undefined || isRefusal(request)) throw new Error(`no request for ${type}`)
    return [request.target, request.headers[1]]
  }
  expect(typeOf('payments.payout_intent.create', { amount: 1 })).toEqual([
    '/v2/money_management/payout_intents',
    'application/json',
  ])
  expect(typeOf('payments.account.create', { email: 'a' })).toEqual([
    '/v1/accounts',
    'application/x-www-form-urlencoded',
  ])
})
