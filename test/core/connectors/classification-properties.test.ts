import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isBeside } from '../../../core/action/action.ts'
import type { Row } from '../../../core/connectors/connector.ts'
import { BUILT_IN } from '../../../core/connectors/registry.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import { readOperations } from '../../../scripts/catalogue/coverage.ts'
import fc from '../../support/fast-check.ts'
import { boundOf, nameRequest, USUAL_HOST } from './golden.ts'

type Type = ConnectorEntry['type']

/** The REST rows of the providers that publish their operations; git speaks on another host. */
const ROWS: Partial<Record<Type, readonly Row[]>> = Object.fromEntries(
  (['codehost', 'llm_a', 'llm_b', 'llm_c', 'payments', 'chat'] as const).map((type) => [
    type,
    (BUILT_IN.find(({ name }) => name === type)?.catalogue ?? []).filter(
      (row): row is Row => row.template !== undefined && !isGit(row.template),
    ),
  ]),
)
const TYPES = Object.keys(ROWS) as Type[]
const PUBLISHED = TYPES.flatMap((type) => {
  const list = readFileSync(new URL(`../../golden/published/${type}.tsv`, import.meta.url), 'utf8')
  return readOperations(list).map(({ method, template }): [Type, string, string] => [type, method, template])
})

/** A work item is taken by reading it; certificates are said to be switched by a read in one published list. */
const WRITES_BY_GET = new Set([
  'llm_a.org_certificate.activate',
  'llm_a.org_certificate.deactivate',
  'llm_a.project_certificate.activate',
  'llm_a.project_certificate.deactivate',
  'llm_b.environment_work.poll',
])

const NUMERIC = new Set(['account_id', 'user_id'])
const FIXED: Readonly<Record<string, string>> = { enablement: 'enable_all' }

function isGit(template: string): boolean {
  return template.startsWith('/{owner}/{repo}/') || template === '/api/graphql'
}

function typesOf(type: Type, method: string, target: string): string[] {
  const rawHeaders = ['Host', USUAL_HOST[type]]
  const raw = { method, target, rawHeaders, httpVersion: '1.1', scheme: 'https', sources: {} } as const
  const named = nameRequest(boundOf(type), raw)
  if (named.kind === 'refusal') return []
  const actions = named.kind === 'actions' ? named.actions : named.candidates
  return actions.filter((action) => !isBeside(action)).map((action) => action.type)
}

/** Parameters without their names: two templates of one shape describe the same paths. */
function shapeOf(type: Type, template: string): string {
  // The versions of llm_c have the same rows.
  const versioned = type === 'llm_c' ? template.replace(/^\/v1(alpha|beta[23])?\//, '/v1beta/') : template
  return versioned.replace('{base}...{head}', '{basehead}').replaceAll(/\{[^}]+\}/g, '{}')
}

/** An independent and slow reading of a template, to hold the fast one against. */
function naiveMatch(row: Row, method: string, path: string): boolean {
  if (row.method !== '*' && row.method !== method) return false
  const pattern = row.template
    .replaceAll('.', '\\.')
    .replaceAll(/\{[a-z_]+\+\}/g, '.+')
    .replaceAll(/\{[^}]+\}/g, '[^/]+')
  return new RegExp(`^${pattern}$`).test(path)
}

describe('names', () => {
  test.each(TYPES)(
    '%s: every published operation is classified by its own row, with unusual parameter values',
    (type) => {
      for (const [, method, template] of PUBLISHED.filter(([owner]) => owner === type)) {
        let count = 0
        const fill = (name: string) =>
          /number/i.test(name) || NUMERIC.has(name) ? '7' : (FIXED[name] ?? `v${++count}`)
        const target = template.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => fill(name))
        const shape = shapeOf(type, template.replace('{enablement}', 'enable_all'))
        const own = (ROWS[type] ?? []).filter((row) => shapeOf(type, row.template) === shape)
        const names = own.map((row) => row.type)
        for (const named of typesOf(type, method, target))
          expect(names, `${method} ${template}`).toContain(named)
      }
    },
  )

  const segment = (type: Type) => {
    const literals = (ROWS[type] ?? []).flatMap((row) =>
      row.template.split('/').filter((text) => !text.startsWith('{')),
    )
    return fc.oneof(
      fc.constantFrom(...new Set(literals.filter((text) => text !== ''))),
      fc.constantFrom('7', 'v', 'x_1'),
    )
  }

  test.each(TYPES)('%s: a listed name is only given to a path that its row describes', (type) => {
    const path = fc.array(segment(type), { minLength: 1, maxLength: 7 })
    const method = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE')
    fc.assert(
      fc.property(method, path, (verb, segments) => {
        const target = `/${segments.join('/')}`
        const [first, ...others] = typesOf(type, verb, target)
        // Refused: nothing is named.
        if (first === undefined) return
        const isUnmapped = first.startsWith(`${type}.unmapped.`)
        for (const named of isUnmapped ? others : [first, ...others]) {
          const rows = (ROWS[type] ?? []).filter((row) => row.type === named)
          const fits = (row: Row) =>
            isUnmapped
              ? row.effect !== 'read' && naiveMatch(row, row.method, target)
              : naiveMatch(row, verb, target)
          expect(rows.some(fits)).toBe(true)
        }
      }),
      { seed: 42, numRuns: 1_000 },
    )
  })

  test.each(TYPES)('%s: by a method without a row every write of the path is a candidate', (type) => {
    const writes = (ROWS[type] ?? []).filter((row) => row.effect !== 'read' && row.method !== '*')
    for (const row of writes) {
      const target = row.template.replaceAll(/\{([^}]+)\}/g, (_all, name: string) =>
        name.includes('number') ? '7' : 'v',
      )
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PURGE']) {
        const [first = '', ...others] = typesOf(type, method, target)
        if (first.startsWith(`${type}.unmapped.`))
          expect(others, `${method} ${row.template}`).toContain(row.type)
      }
      expect(typesOf(type, 'OPTIONS', target)).toEqual([`${type}.unmapped.options`])
    }
  })

  test.each(TYPES)('%s: every row names its own requests, and not those of a longer path', (type) => {
    for (const row of ROWS[type] ?? []) {
      const method = row.method === '*' ? 'POST' : row.method
      const fill = row.template.replaceAll(/\{([^}]+)\}/g, (_all, name: string) =>
        name.includes('number') ? '7' : 'v',
      )
      expect(typesOf(type, method, fill), row.template).toContain(row.type)
      const longer = `${fill.replace(/\/$/, '')}/zzz/zzz/zzz/zzz`
      const isDescribed = ROWS[type]?.some(
        (other) => other.type === row.type && naiveMatch(other, method, longer),
      )
      expect(typesOf(type, method, longer).includes(row.type), row.template).toBe(isDescribed)
    }
  })

  test.each(TYPES)(
    '%s: a GET is a read and a PUT, PATCH or DELETE is a write, except operations that a provider performs by GET',
    (type) => {
      for (const row of ROWS[type] ?? []) {
        expect(row.type.startsWith(`${type}.`)).toBe(true)
        if (row.method === 'GET' && !WRITES_BY_GET.has(row.type)) expect(row.effect, row.type).toBe('read')
        if (['PUT', 'PATCH', 'DELETE'].includes(row.method)) expect(row.effect, row.type).toBe('write')
      }
    },
  )
})

describe('the forwarded request is the classified one', () => {
  const piece = fc.stringMatching(/^[A-Za-z0-9._~;=+@:%-]{0,8}$/)
  test('path and query keep every byte, or the request is refused', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), piece, (segments, query) => {
        const target = `/${segments.join('/')}${query === '' ? '' : `?${query}`}`
        const rawHeaders = ['hOsT', 'h.test', 'X-A', ' b ']
        const request = canonicalise({
          method: 'GET',
          target,
          rawHeaders,
          httpVersion: '1.1',
          scheme: 'https',
          sources: {},
        })
        if (isRefusal(request)) return
        expect(request.rawTarget).toBe(target)
        expect(`/${request.rawSegments.join('/')}${query === '' ? '' : `?${request.rawQuery}`}`).toBe(target)
        expect(request.rawHeaders).toBe(rawHeaders)
        for (const part of request.segments.join('/').split('/')) expect(['.', '..']).not.toContain(part)
      }),
      { seed: 1, numRuns: 2_000 },
    )
  })
})
