import { describe, expect, test } from 'vitest'
import { canonicalResource } from '../../../core/connectors/names.ts'
import { nameRulesOf } from '../../../core/connectors/registry.ts'
import { boundOf, type GoldenCase, nameRequest, rawOf, readCorpus, USUAL_HOST } from './golden.ts'

/** What a case says, in the shape of its expectation. */
function observe(golden: GoldenCase): Record<string, unknown> {
  const raw = rawOf(golden.request, USUAL_HOST[golden.connector])
  const named = nameRequest(boundOf(golden.connector), raw, golden.request.body)
  if (named.kind === 'refusal') return { refusal: named.code }
  if (named.kind === 'candidates') return { candidates: named.candidates.map((action) => action.type) }
  const [first] = named.actions
  if (named.actions.length !== 1 || first === undefined)
    return { actions: named.actions.map((action) => action.type) }
  const { risk, effect, parameters } = first
  const canonical = canonicalResource(nameRulesOf(first.connector), first.resource).target
  return { action: first.type, risk, effect, parameters, target: first.resource.target, canonical }
}

describe('the golden corpus: every request has the one right name, or is refused for the one right reason', () => {
  for (const { file, cases } of readCorpus()) {
    describe(file, () => {
      for (const golden of cases) {
        test(golden.name, () => {
          expect(observe(golden)).toMatchObject(golden.expect)
        })
      }
    })
  }

  test('holds several hundred cases, so that an emptied folder is noticed', () => {
    const total = readCorpus().reduce((sum, { cases }) => sum + cases.length, 0)
    expect(total).toBeGreaterThan(400)
  })
})
